import { raw } from 'objection';
import { ResultPush } from '../models/capture.js';
import { putOutbox } from '../outbox/outbox.js';
import { execute, query } from '../client/query.js';
import { taskSummary } from '../scheduling/effective-status.js';
import { retryForbiddenTriggers, retryUnseenTriggers } from './webhook-events.queries.js';
import type { Tx } from '../client/database.js';

/** A session whose push is to check again. */
interface Asking {
  id: string;
  study_id: string;
}

/**
 * Queues pushes for completed sessions, in the caller's commit: those of an integrated study whose visit has a
 * capture-system event and was completed by the session. Others are skipped; their sync status stays null. A failed
 * push stays `failed` until it succeeds.
 */
export async function requestPushes(tx: Tx, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return;
  const rows = await query<Asking>(
    tx,
    `with due as (
       select s.id, s.study_id, s.participant_id, v.id as visit_id,
         -- An offline session may come before its results: they ask again when they arrive.
         s.source = 'online' or exists (select from session_tasks k where k.session_id = s.id) as ready
       from assessment_sessions s join studies t on t.id = s.study_id join scheduled_visits v on v.id = s.visit_id
       where s.id = any($1) and s.status = 'completed' and t.datacapture_enabled
         and v.status = 'completed' and v.datacapture_event is not null
           and (v.session_id = s.id or (v.session_id is null and s.source = 'online'))
     ), asked as (${ASK} select id, study_id, participant_id from due on conflict ${AGAIN} returning session_id
     ), sessions as (
       update assessment_sessions s set sync_status = 'pending', synced_at = null from due d
         where s.id = d.id and s.sync_status is distinct from 'failed'
     ), visits as (
       update scheduled_visits v set data_sync_status = 'pending', synced_at = null from due d
         where v.id = d.visit_id and v.data_sync_status is distinct from 'failed'
     ) select id, study_id from due where ready order by id`,
    [[...sessionIds]],
  );
  await wake(tx, rows);
}

/** Results of a task that a mapping gives a place. `metrics` null: all of the task's. */
export interface MappedResults {
  task: string;
  metrics: string[] | null;
}

/**
 * Pushes the results of completed sessions that were passed over: the exchange was off, or they were not mapped. What
 * is older than the study's configuration never was for the capture system.
 * @param mapped only sessions with such results, also those whose other results were delivered
 */
export async function requestMissedPushes(tx: Tx, studyId: string, mapped?: readonly MappedResults[]): Promise<void> {
  const missed = await query<{ id: string }>(
    tx,
    `select s.id from assessment_sessions s join datacapture_configs c on c.study_id = s.study_id
      where s.study_id = $1 and s.status = 'completed' and s.visit_id is not null and s.completed_at >= c.created_at
        and (s.sync_status is null or ($2::jsonb is not null and s.sync_status in ('synced', 'pending')))
        and ($2::jsonb is null or exists (
          select from session_tasks k join jsonb_to_recordset($2::jsonb) as m(task text, metrics text[])
            on m.task = k.task
          where k.session_id = s.id and (m.metrics is null or jsonb_exists_any(${taskSummary('k')}, m.metrics))))
      order by s.id`,
    [studyId, mapped ? JSON.stringify(mapped) : null],
  );
  await requestPushesOfMany(
    tx,
    missed.map(({ id }) => id),
  );
}

/** Takes sessions and visits first, as the end of an attempt does: the two never wait for each other in a circle. */
async function requestPushesOfMany(tx: Tx, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return;
  const sessions = tx('assessment_sessions').whereRaw('id = any(?)', [[...sessionIds]]);
  await sessions.clone().orderBy('id').forNoKeyUpdate().select('id');
  await tx('scheduled_visits')
    .whereIn('id', sessions.clone().select('visit_id'))
    .orderBy('id')
    .forNoKeyUpdate()
    .select('id');
  await requestPushes(tx, sessionIds);
}

/**
 * These participants have another record in the capture system: results that were delivered to the former one, or to
 * none, are of that one.
 */
export async function requestPushesToOtherRecords(tx: Tx, participantIds: readonly string[]): Promise<void> {
  if (participantIds.length === 0) return;
  const pushes = await ResultPush.query(tx)
    .whereRaw('participant_id = any(?)', [[...participantIds]])
    .whereNot({ status: 'skipped' })
    .orderBy('session_id')
    .select('session_id');
  await requestPushesOfMany(
    tx,
    pushes.map(({ session_id }) => session_id),
  );
}

const ASK = 'insert into result_pushes as p (session_id, study_id, participant_id)';
const AGAIN =
  `(session_id) do update set requested = p.requested + 1, requested_at = clock_timestamp(), status = 'pending', ` +
  'failures = 0, waits = 0, next_attempt_at = null';

/** Retries a completed session's push now, whatever its earlier result. */
export async function requestPushAgain(
  tx: Tx,
  session: { id: string; study_id: string; participant_id: string },
): Promise<void> {
  await execute(tx, `${ASK} values ($1, $2, $3) on conflict ${AGAIN}`, [
    session.id,
    session.study_id,
    session.participant_id,
  ]);
  await wake(tx, [session]);
}

/**
 * Pushes that have yet to end go to another capture system or project: one that is under way ends in the former one,
 * and begins again.
 */
export async function requestOpenPushesAgain(tx: Tx, studyId: string): Promise<void> {
  const open = await ResultPush.query(tx)
    .where({ study_id: studyId })
    .whereIn('status', ['pending', 'waiting'])
    .select('session_id');
  await requestPushesAgain(
    tx,
    open.map(({ session_id }) => session_id),
  );
}

/** The same for many sessions that already have a push. */
export async function requestPushesAgain(tx: Tx, sessionIds: readonly string[]): Promise<void> {
  const rows = await query<Asking>(
    tx,
    // Locked in one order: two requests for the same pushes never deadlock.
    `with asked as materialized (select session_id from result_pushes where session_id = any($1) order by session_id
      for no key update)
     update result_pushes p set requested = p.requested + 1, requested_at = clock_timestamp(), status = 'pending',
       failures = 0, waits = 0, next_attempt_at = null
      from asked where p.session_id = asked.session_id returning p.session_id as id, p.study_id`,
    [[...sessionIds]],
  );
  await wake(tx, rows);
}

/** What the capture system grants (again), as far as it is known: nothing yet, reading, or writing. */
export type GrantedAccess = 'unknown' | 'read' | 'write';

/**
 * Retries what failed for lack of access: triggers if the capture system is read; all pushes if it is written to, else
 * only the oldest one, as a trial, and all others follow once it succeeds. A token may read and not write.
 */
export async function retryForbidden(tx: Tx, studyId: string, granted: GrantedAccess): Promise<void> {
  const forbidden = ResultPush.query(tx)
    .where({ study_id: studyId, forbidden: true, status: 'failed' })
    .orderBy(['requested_at', 'session_id'])
    .select('session_id');
  if (granted !== 'write') void forbidden.limit(1);
  await requestPushesAgain(
    tx,
    (await forbidden).map(({ session_id }) => session_id),
  );
  if (granted !== 'unknown') await retryForbiddenTriggers(tx, studyId);
}

/**
 * Retries what the former token did not find, as another one is saved: it may see more records, forms and fields (a
 * user of one data access group sees no others).
 */
export async function retryUnseen(tx: Tx, studyId: string): Promise<void> {
  const unseen = await ResultPush.query(tx)
    .where({ study_id: studyId, status: 'failed', error_type: 'rejected' })
    .whereLike('message', 'RECORD_NOT_FOUND:%')
    .orderBy(['requested_at', 'session_id'])
    .select('session_id');
  await requestPushesAgain(
    tx,
    unseen.map(({ session_id }) => session_id),
  );
  await retryUnseenTriggers(tx, studyId);
}

/** Retries what failed as the study had no configuration, or a configuration without fields for these tasks. */
export async function retryUnmapped(tx: Tx, studyId: string, tasks: readonly string[]): Promise<void> {
  const unmapped = await ResultPush.query(tx)
    .alias('p')
    .where({ 'p.study_id': studyId, 'p.status': 'failed', 'p.error_type': 'configuration', 'p.forbidden': false })
    .whereRaw('exists (select from session_tasks k where k.session_id = p.session_id and k.task = any(?))', [
      [...tasks],
    ])
    .orderBy(['p.requested_at', 'p.session_id'])
    .select('p.session_id');
  await requestPushesAgain(
    tx,
    unmapped.map(({ session_id }) => session_id),
  );
}

/**
 * Retries a study's failed pushes, or those of these sessions, now; of participants that the caller may see.
 * @returns the sessions
 */
export async function retryFailures(tx: Tx, studyId: string, sessionIds?: readonly string[]): Promise<string[]> {
  const rows: { session_id: string }[] = await tx('result_pushes as p')
    .join('participants as q', 'q.id', 'p.participant_id')
    .join('assessment_sessions as s', 's.id', 'p.session_id')
    .where({ 'p.study_id': studyId, 's.sync_status': 'failed', 's.status': 'completed' })
    .modify((query) => {
      if (sessionIds) query.whereRaw('p.session_id = any(?)', [[...sessionIds]]);
    })
    .orderBy('p.requested_at')
    .select('p.session_id');
  const sessions = rows.map(({ session_id }) => session_id);
  await requestPushesAgain(tx, sessions);
  return sessions;
}

/** Starts the workflows of these pushes, or signals those that wait. */
async function wake(tx: Tx, pushes: readonly Asking[]): Promise<void> {
  await putOutbox(
    tx,
    pushes.map((push) => ({ topic: 'push' as const, studyId: push.study_id, subject: push.id })),
  );
}

/**
 * The capture system is available again: waiting pushes are tried now. Each waiting push gets one check, however often
 * the system recovers. A message that a relay already claimed does not count: it may have led to the very attempt that
 * failed.
 */
export async function requeueWaitingPushes(tx: Tx, studyId: string): Promise<void> {
  const waiting = await ResultPush.query(tx)
    .alias('p')
    .where({ 'p.study_id': studyId, 'p.status': 'waiting' })
    .where('p.next_attempt_at', '>', raw('clock_timestamp()'))
    .whereNotExists(
      tx('outbox as o').whereRaw('o.subject = p.session_id::text').where({ 'o.topic': 'push', 'o.attempts': 0 }),
    )
    .orderBy('p.requested_at')
    .select('p.session_id as id', 'p.study_id')
    .castTo<Asking[]>();
  await wake(tx, waiting);
}

/** Restarts pushes that are long overdue and that nobody processes: their workflows were lost. @returns how many */
export async function requeueOverduePushes(tx: Tx, overdueSeconds: number): Promise<number> {
  const rows = await query<Asking>(
    tx,
    `select p.session_id as id, p.study_id from result_pushes p
      where p.status in ('pending', 'waiting')
        and coalesce(p.next_attempt_at, p.requested_at) < clock_timestamp() - $1 * interval '1 second'
        and greatest(p.updated_at, p.slot_at) < clock_timestamp() - $2 * interval '1 second'
        and not exists (select from outbox o where o.subject = p.session_id::text)
        and (exists (select from session_tasks k where k.session_id = p.session_id)
          or exists (select from assessment_sessions s where s.id = p.session_id and s.source = 'online'))
      order by 1 limit 1000`,
    [overdueSeconds, overdueSeconds],
  );
  await wake(tx, rows);
  return rows.length;
}
