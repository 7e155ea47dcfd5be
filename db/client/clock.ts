import { query } from './query.js';
import type { Database } from './database.js';

/**
 * How often the database is asked for its time: what is asked for is that of one clock, whatever becomes of this
 * machine's.
 */
const ASK_MS = 10_000;

/** What is added to the time since this process began. */
let origin = performance.timeOrigin;

/**
 * The time, epoch milliseconds: the database's, as it was told last, and what has passed since by a clock that does not
 * jump. All processes have one time, and a deadline is kept to whatever this machine's clock is set to.
 */
export const nowMs = (): number => Math.floor(origin + performance.now());
/** That time as ISO 8601. */
export const nowIso = (): string => new Date(nowMs()).toISOString();

/**
 * Sets the time by the database's. Its answer was written between question and answer: a time that is possible by that
 * is left as it is, so that it does not tremble with the way there and back.
 */
export async function setClock(database: Database): Promise<void> {
  const asked = performance.now();
  const [row] = await query<{ ms: number }>(
    database,
    `select extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
  );
  const answered = performance.now();
  origin = Math.min(Math.max(origin, row!.ms - answered), row!.ms - asked);
}

/**
 * Sets the time now, and again and again until it is stopped. While the database is away the time goes on by itself.
 * @param failed hears of it
 */
export async function followClock(database: Database, failed: (fault: unknown) => void): Promise<() => void> {
  const ask = () => setClock(database).catch(failed);
  await ask();
  const timer = setInterval(() => void ask(), ASK_MS).unref();
  return () => clearInterval(timer);
}
