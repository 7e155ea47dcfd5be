import { execute, prepared } from '../client/query.js';
import type { Database, Tx } from '../client/database.js';

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
/**
 * A window that is over starts again. So does one that ends later than any window can: it was written when the clock
 * was wrong, and must not block anyone. (Twice as far, since of two concurrent requests either may be first.)
 */
const OVER = '(r.expire <= excluded.expire - $3 or r.expire > excluded.expire + $3)';

/**
 * Takes points of a key's window; the time is the database's. @returns how many points were taken in it, and when it
 * ends, in ms
 */
export async function takePoints(
  database: Database,
  key: string,
  points: number,
  windowMs: number,
): Promise<{ taken: number; endsInMs: number }> {
  const [row] = await prepared<{ points: number; left: number }>(
    database,
    `insert into rate_limits as r (key, points, expire) values ($1, $2, ${NOW} + $3::bigint)
     on conflict (key) do update set points = case when ${OVER} then excluded.points else r.points + excluded.points
       end, expire = case when ${OVER} then excluded.expire else r.expire end
     returning r.points, (r.expire - ${NOW})::float8 as left`,
    [key, points, windowMs],
  );
  return { taken: row!.points, endsInMs: Math.max(0, row!.left) };
}

/** The longest queue of callers that wait in place. */
const MAX_WINDOW_MS = 60_000;

/**
 * Takes a place in a key's queue, which lets one through each `apartMs` (whole milliseconds), and after a pause up to
 * `burst` at once.
 * @param longestMs no queue is that long: a longer one comes from a row that was written when the clock was wrong
 * @returns how long to wait for it, ms
 */
export async function takePlace(
  database: Database | Tx,
  key: string,
  apartMs: number,
  burst: number,
  longestMs = MAX_WINDOW_MS,
): Promise<number> {
  const [row] = await prepared<{ left: number }>(
    database,
    `insert into rate_limits as r (key, points, expire) values ($1, 1, ${NOW} + $2::bigint)
     on conflict (key) do update set expire = case when r.expire > excluded.expire + $3::bigint
       then excluded.expire else greatest(r.expire + $2::bigint, excluded.expire) end
     returning (r.expire - ${NOW})::float8 as left`,
    [key, apartMs, apartMs * burst + longestMs],
  );
  return Math.max(0, row!.left - apartMs * burst);
}

/** Deletes windows that ended long ago. */
export async function sweepPoints(database: Database): Promise<void> {
  await execute(database, `delete from rate_limits where expire < ${NOW} - 3600000`);
}
