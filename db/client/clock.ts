import { prepared } from './query.js';
import type { Database } from './database.js';

/** How often the clock is set by the database's: all processes share one clock, whatever happens to this machine's. */
const ASK_MS = 10_000;

/** Added to the time since this process began. */
let origin = performance.timeOrigin;

/**
 * The time in epoch milliseconds: the database's last answer plus the time since by a monotonic clock. All processes
 * agree on it, and deadlines hold whatever this machine's clock is set to.
 */
export const nowMs = (): number => Math.floor(origin + performance.now());
/** The same as ISO 8601. */
export const nowIso = (): string => new Date(nowMs()).toISOString();

/**
 * Sets the clock by the database's. The database answered between request and response: a clock within these bounds
 * stays, so that it does not jitter with the round trip.
 */
export async function setClock(database: Database): Promise<void> {
  const asked = performance.now();
  const [row] = await prepared<{ ms: number }>(
    database,
    `select extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
    [],
  );
  const answered = performance.now();
  origin = Math.min(Math.max(origin, row!.ms - answered), row!.ms - asked);
}

/**
 * Sets the clock now and periodically until stopped. While the database is away the clock runs on.
 * @param failed is called with each fault
 */
export async function followClock(database: Database, failed: (fault: unknown) => void): Promise<() => void> {
  const ask = () => setClock(database).catch(failed);
  await ask();
  const timer = setInterval(() => void ask(), ASK_MS).unref();
  return () => clearInterval(timer);
}
