import { ResultPush } from '../models/capture.js';
import { taskSummary } from '../scheduling/effective-status.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export type PushStatus = 'pending' | 'waiting' | 'synced' | 'failed' | 'skipped';
/** A warning that did not prevent a push. */
export interface PushRemark {
  code: string;
  field: string;
  message: string;
}
export interface PushRow {
  session_id: string;
  study_id: string;
  participant_id: string;
  status: PushStatus;
  requested: number;
  done: number;
  requested_at: string;
  attempts: number;
  failures: number;
  waits: number;
  unanswered: boolean;
  /** The last attempt was refused access. */
  forbidden: boolean;
  attempt_id: string | null;
  slot_at: string | null;
  error_type: string | null;
  message: string | null;
  next_attempt_at: string | null;
  warnings: PushRemark[];
}
const OWN =
  'p.session_id, p.study_id, p.participant_id, p.status, p.requested, p.done, p.requested_at, p.attempts, ' +
  'p.failures, p.waits, p.unanswered, p.forbidden, p.attempt_id, p.slot_at, p.error_type, p.message, ' +
  'p.next_attempt_at, p.warnings';

async function lockPush(tx: Tx, sessionId: string): Promise<PushRow | undefined> {
  return tx('result_pushes as p').where('p.session_id', sessionId).forUpdate().first(tx.raw(OWN)) as Promise<
    PushRow | undefined
  >;
}

/** The current facts that decide a push. */
export interface PushFacts {
  integrated: boolean;
  session_status: string;
  source: 'online' | 'offline';
  external_id: string | null;
  began_after_withdrawal: boolean;
  visit_id: string | null;
  visit_status: string | null;
  visit_event: string | null;
  visit_session_id: string | null;
  summaries: Record<string, Record<string, number>> | null;
  /** Tasks whose results stand by their modules, with the names of these. */
  divided: Record<string, string[]> | null;
}
export async function pushFacts(tx: Tx, sessionId: string): Promise<PushFacts | undefined> {
  const rows = await query<PushFacts>(
    tx,
    `select t.datacapture_enabled as integrated, s.status as session_status, s.source, p.external_id,
      coalesce(s.started_at > p.withdrawn_at, false) as began_after_withdrawal,
       v.id as visit_id, v.status as visit_status, v.datacapture_event as visit_event, v.session_id as visit_session_id,
       (select jsonb_object_agg(k.task, ${taskSummary('k')}) from session_tasks k
         where k.session_id = s.id) as summaries,
       (select jsonb_object_agg(d.task, d.names) from (
         select m.task, array_agg(distinct k.task order by k.task) as names
         from session_tasks k join battery_modules m
           on m.battery_id = s.battery_id and m.version = s.battery_version and m.id = k.module_id
         where k.session_id = s.id and k.task <> m.task group by m.task) d) as divided
     from assessment_sessions s join studies t on t.id = s.study_id join participants p on p.id = s.participant_id
       left join scheduled_visits v on v.id = s.visit_id
     where s.id = $1`,
    [sessionId],
  );
  return rows[0];
}

/**
 * The tasks whose results other visits of the participant have delivered to an event, all or some of them. A visit that
 * another session tells, or whose event was corrected since, is none of them.
 */
export function tasksDelivered(tx: Tx, push: PushRow, event: string): Promise<string[]> {
  return tx('assessment_sessions as s')
    .join('scheduled_visits as v', (on) => void on.on('v.id', 's.visit_id').andOn('v.session_id', 's.id'))
    .join('session_tasks as k', 'k.session_id', 's.id')
    .where({ 's.participant_id': push.participant_id, 'v.status': 'completed', 'v.datacapture_event': event })
    .whereNot('s.id', push.session_id)
    .whereExists(
      tx('push_attempts as a')
        .whereRaw('a.session_id = s.id')
        .where((any) => void any.where('a.status', 'success').orWhere('a.records_imported', '>', 0)),
    )
    .distinct('k.task')
    .pluck('k.task') as unknown as Promise<string[]>;
}

/** Marks an attempt as in progress. If it sends, its result is unknown until its end is stored. */
export async function noteAttempt(tx: Tx, sessionId: string, attemptId: string, sends: boolean): Promise<void> {
  await tx('result_pushes')
    .where({ session_id: sessionId })
    .update({ attempt_id: attemptId, ...(sends && { unanswered: true }) });
}

/**
 * When a push may call. An assigned slot stays until the attempt ends.
 * @param place takes a place in the queue of pushes to its server: the milliseconds until its turn
 * @returns the milliseconds until then; 0: now
 */
export async function slotIn(tx: Tx, push: PushRow, place: () => Promise<number>): Promise<number> {
  if (push.slot_at === null) {
    // Pushes already wait for an open breaker.
    const open: unknown = await tx('datacapture_breakers')
      .where({ study_id: push.study_id })
      .whereNot({ state: 'closed' })
      .first('study_id');
    if (open !== undefined) return 0;
    const wait = await place();
    await tx('result_pushes')
      .where({ session_id: push.session_id })
      .update({ slot_at: tx.raw(`clock_timestamp() + ? * interval '1 millisecond'`, [wait]) });
  }
  const left = (await tx('result_pushes')
    .where({ session_id: push.session_id })
    .first(tx.raw('extract(epoch from slot_at - clock_timestamp()) * 1000 as ms'))) as { ms: number };
  return Math.max(0, left.ms);
}

/** The target of a push. */
export interface PushTarget {
  studyId: string;
  record: string;
  event: string;
}
/** Locks a record's event for one attempt. False: another push holds it. */
export async function takeTarget(tx: Tx, target: PushTarget, owner: string, seconds: number): Promise<boolean> {
  const taken: unknown[] = await tx('push_targets as t')
    .insert({
      study_id: target.studyId,
      record: target.record,
      event: target.event,
      lease_owner: owner,
      lease_until: tx.raw(`clock_timestamp() + ? * interval '1 second'`, [seconds]),
    })
    .onConflict(['study_id', 'record', 'event'])
    .merge(['lease_owner', 'lease_until'])
    .whereRaw('(t.lease_owner is null or t.lease_owner = excluded.lease_owner or t.lease_until < clock_timestamp())')
    .returning('record');
  return taken.length === 1;
}
/** Extends the lock. False: the lease expired and another push has it. */
export async function keepTarget(tx: Tx, target: PushTarget, owner: string, seconds: number): Promise<boolean> {
  return (
    (await tx('push_targets')
      .where({ study_id: target.studyId, record: target.record, event: target.event, lease_owner: owner })
      .update({ lease_until: tx.raw(`clock_timestamp() + ? * interval '1 second'`, [seconds]) })) === 1
  );
}
export async function releaseTarget(tx: Tx, target: PushTarget, owner: string): Promise<void> {
  await tx('push_targets')
    .where({ study_id: target.studyId, record: target.record, event: target.event, lease_owner: owner })
    .update({ lease_owner: null, lease_until: null });
}

/** The result of an attempt. `status` of the push: `waiting` with the time of the next attempt, else final. */
export interface PushResult {
  attempt: {
    status: 'success' | 'failed' | 'skipped';
    error_type: string | null;
    message: string | null;
    records_imported: number | null;
    already_there: boolean;
    warnings: PushRemark[];
    started_at: string;
  };
  push: {
    status: Exclude<PushStatus, 'pending'>;
    done: number;
    failures: number;
    waits: number;
    unanswered: boolean;
    forbidden: boolean;
    next_attempt_at: string | null;
  };
}

/** Stores an attempt and the new status of push, session and visit; all three agree. */
export async function endAttempt(tx: Tx, push: PushRow, visitId: string | null, ending: PushResult): Promise<void> {
  const { attempt } = ending;
  const { error_type, message } = attempt;
  await tx('push_attempts').insert({
    ...attempt,
    warnings: JSON.stringify(attempt.warnings),
    session_id: push.session_id,
    study_id: push.study_id,
    visit_id: visitId,
    number: push.attempts + 1,
    next_attempt_at: ending.push.next_attempt_at,
  });
  // Requested again meanwhile: this attempt may not include everything.
  const status = ending.push.status !== 'waiting' && push.requested > ending.push.done ? 'pending' : ending.push.status;
  await tx('result_pushes')
    .where({ session_id: push.session_id })
    .update({
      ...ending.push,
      status,
      slot_at: null,
      error_type,
      message,
      warnings: JSON.stringify(attempt.warnings),
      attempts: push.attempts + 1,
      next_attempt_at: status === 'waiting' ? ending.push.next_attempt_at : null,
    });
  const sync = { success: 'synced', failed: 'failed', skipped: null }[attempt.status];
  const shown = sync === 'synced' && status === 'pending' ? 'pending' : sync;
  const values = { synced_at: shown === 'synced' ? tx.raw('now()') : null };
  await tx('assessment_sessions')
    .where({ id: push.session_id })
    .update({ sync_status: shown, ...values });
  if (visitId !== null) {
    // A visit that another session completed, or that was reopened, is not this session's any more.
    await tx('scheduled_visits')
      .where({ id: visitId, status: 'completed' })
      .whereRaw('coalesce(session_id, ?) = ?', [push.session_id, push.session_id])
      .update({ data_sync_status: shown, ...values });
  }
}

/**
 * Locks a push whose attempt begins, its participant first: a row that is changed twice in one transaction has its
 * foreign keys checked, which waits for a participant that is being changed and may itself wait for the push.
 */
export async function lockBeginning(tx: Tx, sessionId: string): Promise<PushRow | undefined> {
  const participant = tx('result_pushes').where({ session_id: sessionId }).select('participant_id');
  await tx('participants').whereIn('id', participant).forKeyShare().select('id');
  return lockPush(tx, sessionId);
}

/** Locks the rows that an attempt's end writes, in the API's order: session, visit, push. */
export async function lockEnding(
  tx: Tx,
  sessionId: string,
): Promise<{ push: PushRow; visitId: string | null } | undefined> {
  const session = (await tx('assessment_sessions').where({ id: sessionId }).forNoKeyUpdate().first('visit_id')) as
    { visit_id: string | null } | undefined;
  if (!session) return undefined;
  if (session.visit_id !== null)
    await tx('scheduled_visits').where({ id: session.visit_id }).forNoKeyUpdate().select('id');
  const push = await lockPush(tx, sessionId);
  return push && { push, visitId: session.visit_id };
}

// --- views

export interface AttemptRecord {
  id: string;
  session_id: string;
  visit_id: string | null;
  number: number;
  status: 'success' | 'failed' | 'skipped';
  error_type: string | null;
  message: string | null;
  records_imported: number | null;
  already_there: boolean;
  warnings: PushRemark[];
  started_at: string;
  at: string;
  next_attempt_at: string | null;
}
export function listAttempts(tx: Tx, sessionId: string, paging: Page): Promise<Listed<AttemptRecord>> {
  return page(
    tx,
    tx('push_attempts as a').where('a.session_id', sessionId),
    'a.id, a.session_id, a.visit_id, a.number, a.status, a.error_type, a.message, a.records_imported, ' +
      'a.already_there, a.warnings, a.started_at, a.at, a.next_attempt_at',
    paging,
    { at: 'a.number' },
    'a.seq',
  );
}

export type PushRecord = Omit<
  PushRow,
  'requested' | 'done' | 'unanswered' | 'forbidden' | 'attempt_id' | 'slot_at' | 'failures' | 'waits'
>;
export async function pushOfSession(tx: Tx, sessionId: string): Promise<PushRecord | undefined> {
  return ResultPush.query(tx)
    .findById(sessionId)
    .select(
      'session_id',
      'study_id',
      'participant_id',
      'status',
      'requested_at',
      'attempts',
      'error_type',
      'message',
      'next_attempt_at',
      'warnings',
    )
    .castTo<PushRecord | undefined>();
}

export interface FailureRecord extends PushRecord {
  visit_id: string | null;
  datacapture_event: string | null;
  participant_code: string;
  final: boolean;
  failed_at: string;
}
/** A study's failed pushes with the reason; joined with their participants, so that isolation by site holds. */
export function listFailures(
  tx: Tx,
  studyId: string,
  filter: Page & { final?: boolean | undefined; errorType?: string | undefined },
): Promise<Listed<FailureRecord>> {
  const found = tx('result_pushes as p')
    .join('participants as q', 'q.id', 'p.participant_id')
    .join('assessment_sessions as s', 's.id', 'p.session_id')
    .leftJoin('scheduled_visits as v', 'v.id', 's.visit_id')
    .where('p.study_id', studyId)
    .where('s.sync_status', 'failed')
    .modify((q) => {
      if (filter.final !== undefined) q.whereRaw(`(p.status = 'failed') = ?`, [filter.final]);
      if (filter.errorType) q.where('p.error_type', filter.errorType);
    });
  return page(
    tx,
    found,
    `p.session_id, p.study_id, p.participant_id, q.participant_code, s.visit_id, v.datacapture_event, p.status,
      p.error_type, p.message, p.attempts, p.warnings,
    p.status = 'failed' as final, p.requested_at, p.updated_at as failed_at, p.next_attempt_at`,
    filter,
    { failed_at: 'p.updated_at' },
    'p.session_id',
  );
}
