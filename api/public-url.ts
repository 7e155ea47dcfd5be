import type { Settings } from '../settings.js';

/**
 * A public address of this service: absolute by PUBLIC_URL. Without that setting the public host is unknown, and the
 * path alone works for all callers.
 */
export const publicUrl = ({ PUBLIC_URL }: Pick<Settings, 'PUBLIC_URL'>, path: string): string =>
  PUBLIC_URL === undefined ? path : `${PUBLIC_URL.replace(/\/+$/, '')}${path}`;
