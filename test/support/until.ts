import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a machine that is busy with other things: how fast something is, a benchmark says. */
const PATIENCE_MS = 45_000;

/**
 * Polls until `look` answers something truthy, and returns that. What it throws counts as "not yet" and is told when
 * the time is up.
 * @param options timeout and interval in milliseconds; `what` completes "waited in vain for …"
 */
export async function until<T>(
  look: () => T | Promise<T>,
  {
    timeout = PATIENCE_MS,
    interval = 50,
    what = 'a condition',
  }: { timeout?: number; interval?: number; what?: string } = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeout;
  let last: unknown;
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
        `waited in vain for ${what} (${timeout} ms); at last: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
      );
    await sleep(interval);
  }
}
