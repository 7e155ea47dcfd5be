import { setImmediate as others } from 'node:timers/promises';

/** A loop blocks the process: after this long it yields to others. */
const BUSY_MS = 10;

/** A function for each step of a long synchronous loop: it yields to others if the loop was busy for long. */
export function yieldAfter(busyMs = BUSY_MS): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < busyMs) return;
    await others();
    since = performance.now();
  };
}
