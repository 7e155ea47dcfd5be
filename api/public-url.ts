import type { Settings } from '../settings.js';

/**
 * An address of this service as people and programs outside reach it: absolute by PUBLIC_URL. Where that is not set,
 * nobody knows by which address a caller came, and the path alone is right for all of them.
 */
export const publicUrl = ({ PUBLIC_URL }: Pick<Settings, 'PUBLIC_URL'>, path: string): string =>
  PUBLIC_URL === undefined ? path : `${PUBLIC_URL.replace(/\/+$/, '')}${path}`;
