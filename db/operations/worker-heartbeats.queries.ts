import { execute, prepared, query } from '../client/query.js';
import type { Database } from '../client/database.js';

/** Heartbeats of workers that ended long ago without deregistering. */
const FORGOTTEN = `interval '1 hour'`;

/** A worker process. */
export interface WorkerPlace {
  id: string;
  taskQueue: string;
  host: string;
  pid: number;
}

/** Stores this worker's heartbeat, and deletes those of workers that ended long ago. */
export async function recordHeartbeat(database: Database, { id, taskQueue, host, pid }: WorkerPlace): Promise<void> {
  await prepared(
    database,
    `with forgotten as (delete from worker_signs where seen_at < clock_timestamp() - ${FORGOTTEN}
      and worker_id <> $1::uuid)
     insert into worker_signs (worker_id, task_queue, host, pid, reads_details) values ($1, $2, $3, $4, true)
     on conflict (worker_id) do update set seen_at = clock_timestamp()`,
    [id, taskQueue, host.slice(0, 255), pid],
  );
}

/**
 * Deregisters a worker that ends: it is not missed. Also deletes workers of its host that were silent before it
 * started: it had replaced them.
 */
export async function removeHeartbeat(database: Database, workerId: string): Promise<void> {
  await execute(
    database,
    `delete from worker_signs one using worker_signs own
     where own.worker_id = $1 and (one.worker_id = own.worker_id
       or (one.task_queue = own.task_queue and one.host = own.host and one.seen_at < own.started_at))`,
    [workerId],
  );
}

export interface SilentWorker {
  host: string | null;
  pid: number | null;
  seconds: number;
}
export interface KnownWorkers {
  /** Live workers, and those that should be. */
  known: number;
  /** Longest silent first. */
  silent: SilentWorker[];
  /** Since the last heartbeat of any; null: no worker of the task queue is known. */
  secondsSinceSign: number | null;
}

interface Sign extends SilentWorker {
  started: number;
  seen: number;
}

/** The workers of a task queue. One without a heartbeat for this long is silent: frozen, cut off, or gone. */
export async function knownWorkers(
  database: Database,
  taskQueue: string,
  silentAfterSeconds: number,
): Promise<KnownWorkers> {
  const rows = await query<Sign>(
    database,
    `select host, pid, extract(epoch from started_at)::float8 as started, extract(epoch from seen_at)::float8 as seen,
       extract(epoch from clock_timestamp() - seen_at)::float8 as seconds
     from worker_signs where task_queue = $1 order by seen_at desc`,
    [taskQueue],
  );
  const alive = rows.filter(({ seconds }) => seconds <= silentAfterSeconds);
  const silent = notReplaced(rows, silentAfterSeconds);
  return {
    known: alive.length + silent.length,
    silent: silent.map(({ host, pid, seconds }) => ({ host, pid, seconds })).reverse(),
    secondsSinceSign: rows[0]?.seconds ?? null,
  };
}

/**
 * Silent workers that no other replaced. On a host each worker replaces one that fell silent before it started: a
 * restarted program counts as one worker, however often it crashed.
 * @param signs the latest first: a worker that can replace a later one can replace earlier ones as well
 */
function notReplaced(signs: readonly Sign[], silentAfterSeconds: number): Sign[] {
  const free = new Set(signs);
  return signs.filter((one) => {
    if (one.seconds <= silentAfterSeconds) return false;
    const successor = [...free].find(({ host, started }) => host === one.host && started > one.seen);
    if (successor) free.delete(successor);
    return successor === undefined;
  });
}
