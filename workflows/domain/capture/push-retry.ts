/** The longest wait between two attempts: a recovered capture system also wakes waiting pushes. */
const MAX_DELAY_MS = 3_600_000;
/**
 * This many waits on an open breaker last one cooldown each; later ones are longer, so that a week's outage takes only
 * a few hundred attempts.
 */
const SHORT_WAITS = 8;

const doubling = (first: number, times: number): number =>
  Math.min(first * 2 ** Math.min(times, 30), Math.max(first, MAX_DELAY_MS));

/** The back-off after the n-th failure in a row (from 1), milliseconds. `chance` in [0, 1) is the jitter. */
export const retryWait = (initialMs: number, failures: number, chance: number): number =>
  Math.round(doubling(initialMs, failures - 1) * (1 + 0.2 * chance));

/** The wait at an open breaker: until it may be tried, later after many waits in a row. */
export function breakerWait(untilMs: number, cooldownMs: number, waits: number, chance: number): number {
  const least = Math.max(untilMs, 10);
  const later = waits <= SHORT_WAITS ? 0 : doubling(cooldownMs, waits - SHORT_WAITS);
  return Math.round(Math.max(least, later) + Math.min(cooldownMs, 5_000) * 0.2 * chance);
}
