import type { Settings } from '../settings.js';

/**
 * A public address of this service: absolute by PUBLIC_URL. Without that setting the public host is unknown, and the
 * path alone works for all callers.
 */
export const publicUrl = ({ PUBLIC_URL }: Pick<Settings, 'PUBLIC_URL'>, path: string): string =>
  PUBLIC_URL === undefined ? path : `${PUBLIC_URL.replace(/\/+$/, '')}${path}`;

/** Whether browsers reach this service by https: by the scheme of PUBLIC_URL; without it, in production. */
export const isHttpsOutside = ({ production, PUBLIC_URL }: Pick<Settings, 'production' | 'PUBLIC_URL'>): boolean =>
  PUBLIC_URL === undefined ? production : /^https:/i.test(PUBLIC_URL);
