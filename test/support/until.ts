import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a machine that is busy with other things: how fast something is, a benchmark says. */
const PATIENCE_MS = 60_000;

/** The first look comes again soon; later ones leave the processor to those who are waited for. */
const FIRST_INTERVAL_MS = 50,
  LONGEST_INTERVAL_MS = 400,
  SLOWER = 1.2;

let waiters = 0;
let waitedSoFarMs = 0;
let waitingSince = 0;

/** Milliseconds in which at least one `until` of this process was polling. */
export const waitedMs = (): number => waitedSoFarMs + (waiters > 0 ? performance.now() - waitingSince : 0);

function beginWaiting(): void {
  if (waiters === 0) waitingSince = performance.now();
  waiters += 1;
}

function endWaiting(): void {
  waiters -= 1;
  if (waiters === 0) waitedSoFarMs += performance.now() - waitingSince;
}

/**
 * Polls until `look` answers something truthy, and returns that. What it throws counts as "not yet" and is told when
 * the time is up.
 * @param options timeout and interval in milliseconds; without an interval it grows from 50 to 400. `what` completes
 * "waited in vain for …"
 */
export async function until<T>(
  look: () => T | Promise<T>,
  {
    timeout = PATIENCE_MS,
    interval,
    what = 'a condition',
  }: { timeout?: number; interval?: number; what?: string } = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeout;
  let pause = interval ?? FIRST_INTERVAL_MS;
  let last: unknown;
  beginWaiting();
  try {
    for (;;) {
      try {
        const found = await look();
        if (found) return found;
        last = found;
      } catch (fault) {
        last = fault;
      }
      if (performance.now() > deadline)
        throw new Error(
          `waited in vain for ${what} (${timeout} ms); at last: ` +
            `${last instanceof Error ? last.message : JSON.stringify(last)}`,
        );
      await sleep(pause);
      if (interval === undefined) pause = Math.min(pause * SLOWER, LONGEST_INTERVAL_MS);
    }
  } finally {
    endWaiting();
  }
}
