import type { Database } from '../knex.js';
import { execute, query } from '../query.js';

/** Signs of workers that ended long ago and could not say so. */
const FORGOTTEN = `interval '1 hour'`;

/** Notes that this worker is alive, and forgets those that ended long ago. */
export async function showSign(database: Database, workerId: string, taskQueue: string): Promise<void> {
  await execute(
    database,
    `with forgotten as (delete from worker_signs where seen_at < clock_timestamp() - ${FORGOTTEN} and worker_id <> $1::uuid)
     insert into worker_signs (worker_id, task_queue) values ($2, $3) on conflict (worker_id) do update set seen_at = clock_timestamp()`,
    [workerId, workerId, taskQueue],
  );
}

/** A worker that ends says so: nobody waits for its next sign. */
export async function endSigns(database: Database, workerId: string): Promise<void> {
  await execute(database, 'delete from worker_signs where worker_id = $1', [workerId]);
}

/** Seconds since the last sign of any worker of a task queue; null: none is known to have worked on it. */
export async function secondsSinceSign(database: Database, taskQueue: string): Promise<number | null> {
  const [row] = await query<{ seconds: number | null }>(
    database,
    'select extract(epoch from clock_timestamp() - max(seen_at))::float8 as seconds from worker_signs where task_queue = $1',
    [taskQueue],
  );
  return row!.seconds;
}
