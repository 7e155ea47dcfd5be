import { nowMs } from '../../db/client/clock.js';

const MAX_RETRY_AFTER_SECONDS = 3600;

/** The seconds of Retry-After, from its number or date, `most` at most; undefined: none, or invalid. */
export function retryAfter(
  header: string | null | undefined,
  most: number = MAX_RETRY_AFTER_SECONDS,
): number | undefined {
  const value = header?.trim();
  if (!value) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - nowMs()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, most) : undefined;
}
