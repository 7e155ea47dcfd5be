import { sessionStatus, summarySource, taskSummary } from '../scheduling/effective-status.js';
import { prepared, query } from '../client/query.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { readOneInScope } from '../client/transaction.js';
import type { Database, Tx } from '../client/database.js';

export type SessionStatus = 'active' | 'completed' | 'expired' | 'abandoned';
export interface SessionRecord {
  id: string;
  /** Public id, for readers to whom the id would be a credential. */
  public_id: string;
  study_id: string;
  site_id: string | null;
  participant_id: string;
  participant_code: string;
  site_code: string | null;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  status: SessionStatus;
  source: 'online' | 'offline';
  local_id: string | null;
  device_id: string | null;
  clock_skew_ms: number | null;
  quality_flags: { code: string; message: string }[];
  started_at: string;
  expires_at: string | null;
  completed_at: string | null;
  timezone: string | null;
  sync_status: 'pending' | 'synced' | 'failed' | null;
  synced_at: string | null;
  task_summaries: Record<string, Record<string, number>>;
  /** Whether a task's summary is the client's or, if the client sent none, computed from its trials. */
  summary_sources: Record<string, 'client' | 'computed'>;
  trial_count: number;
  created_at: string;
  updated_at: string;
}

/** A session is expired from its expiry time on; the sweep stores that a little later. */
const STATUS = sessionStatus('s');
const OWN = `s.id, session_public_id(s.id) as public_id, s.study_id, s.site_id, s.participant_id, s.visit_id,
  s.battery_id, s.battery_version, s.language, ${STATUS} as status, s.source, s.local_id, s.device_id,
  s.clock_skew_ms, s.quality_flags, s.started_at, s.expires_at, s.completed_at, s.timezone, s.sync_status, s.synced_at`;
const COLUMNS =
  `${OWN}, p.participant_code, (select w.site_code from sites w where w.id = s.site_id) as site_code,
  coalesce(k.task_summaries, '{}') as task_summaries, coalesce(k.summary_sources, '{}') as ` +
  'summary_sources, coalesce(k.trial_count, 0)::integer as trial_count, s.created_at, s.updated_at';
const TASKS = `(select jsonb_object_agg(t.task, ${taskSummary('t')}) as task_summaries,
  jsonb_object_agg(t.task, ${summarySource('t')}) as summary_sources, sum(t.trial_count) as trial_count
  from session_tasks t where t.session_id = s.id) as k`;

export interface SessionFilter extends Page {
  studyId?: string | undefined;
  participantId?: string | undefined;
  participantCode?: string | undefined;
  visitId?: string | undefined;
  status?: string | undefined;
  source?: string | undefined;
  siteCode?: string | undefined;
  syncStatus?: string | undefined;
  batteryId?: number | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * Sessions with their participants, so that isolation by site holds; `from` and `to` are inclusive dates of the start,
 * in UTC.
 */
export function listSessions(tx: Tx, filter: SessionFilter): Promise<Listed<SessionRecord>> {
  const found = tx('assessment_sessions as s')
    .join('participants as p', 'p.id', 's.participant_id')
    .joinRaw(`cross join lateral ${TASKS}`)
    .modify((q) => {
      if (filter.studyId) q.where('s.study_id', filter.studyId);
      if (filter.participantId) q.where('s.participant_id', filter.participantId);
      if (filter.participantCode) q.where('p.participant_code', filter.participantCode);
      if (filter.visitId) q.where('s.visit_id', filter.visitId);
      if (filter.status) q.whereRaw(`${STATUS} = ?`, [filter.status]);
      if (filter.source) q.where('s.source', filter.source);
      if (filter.syncStatus) q.where('s.sync_status', filter.syncStatus);
      if (filter.batteryId) q.where('s.battery_id', filter.batteryId);
      if (filter.from) q.whereRaw('s.started_at >= ?::date', [filter.from]);
      if (filter.to) q.whereRaw('s.started_at < ?::date + 1', [filter.to]);
      if (filter.siteCode) q.whereRaw('s.site_id in (select id from sites where site_code = ?)', [filter.siteCode]);
    });
  return page(
    tx,
    found,
    COLUMNS,
    filter,
    { started_at: 's.started_at', completed_at: 's.completed_at', created_at: 's.created_at', status: STATUS },
    's.id',
  );
}

/** Each source has an index of its active sessions: without the source all sessions would be read. */
export const SESSION_BY_ID = `select ${COLUMNS} from assessment_sessions s
    join participants p on p.id = s.participant_id
    cross join lateral ${TASKS}
  where s.id = $1 or (s.status = 'active' and s.source = 'online' and session_public_id(s.id) = $2)
    or (s.status = 'active' and s.source = 'offline' and session_public_id(s.id) = $2)`;

/** By its id or, while it is active, by its public id. */
export async function sessionById(tx: Tx, id: string): Promise<SessionRecord | undefined> {
  return (await query<SessionRecord>(tx, SESSION_BY_ID, [id, id]))[0];
}

export type SessionRow = Omit<
  SessionRecord,
  'participant_code' | 'site_code' | 'task_summaries' | 'summary_sources' | 'trial_count' | 'created_at' | 'updated_at'
> & {
  /** null: the participant or a caregiver started it; in an imported session, a user of another service. */
  started_by_id: string | null;
  imported: boolean;
  /** The participant's identity was erased: the record stays closed. */
  erased: boolean;
  /** When the participant withdrew. */
  withdrawn_at: string | null;
};
/** The session's row, locked until the commit: submissions to one session are processed one at a time. */
export async function lockSession(tx: Tx, id: string): Promise<SessionRow | undefined> {
  return (
    await prepared<SessionRow>(
      tx,
      `select ${OWN}, s.started_by_id, s.imported,
         p.erased_at is not null as erased, p.withdrawn_at
       from assessment_sessions s join participants p on p.id = s.participant_id where s.id = $1 for update of s`,
      [id],
    )
  )[0];
}

/**
 * Narrows a transaction that sees every study to the study of one session, and locks the session's participant before
 * the session: a withdrawal and an erasure wait for it. False: no such session.
 */
export async function enterStudyOf(tx: Tx, sessionId: string): Promise<boolean> {
  return (
    (
      await prepared(
        tx,
        `with person as materialized (
           select p.id from participants p where p.id = (select x.participant_id from assessment_sessions x
             where x.id = $1) for key share)
         select set_config('app.studies', s.study_id::text, true) from assessment_sessions s
           where s.id = $1 and exists (select from person)`,
        [sessionId],
      )
    ).length > 0
  );
}

/** Whether there is such a session, in whatever study: asked before a long body is read. */
export async function sessionExists(database: Database, sessionId: string): Promise<boolean> {
  const statement = { sql: 'select 1 from assessment_sessions where id = $1', values: [sessionId] };
  return (await readOneInScope(database, '*', statement)).length > 0;
}

export interface NewSession {
  study_id: string;
  participant_id: string;
  site_id: string | null;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  timezone: string | null;
  device_id: string | null;
  quality_flags: string;
  started_by_id: string | null;
  minutes: number;
}
export async function insertSession(
  tx: Tx,
  { minutes, ...session }: NewSession,
): Promise<{ id: string; expires_at: string }> {
  const [row] = (await tx('assessment_sessions')
    .insert({
      ...session,
      started_at: tx.raw('now()'),
      expires_at: tx.raw(`now() + ? * interval '1 minute'`, [minutes]),
    })
    .returning(['id', 'expires_at'])) as { id: string; expires_at: string }[];
  return row!;
}

export async function completeSession(tx: Tx, id: string, visitId: string | null): Promise<string> {
  const [session] = (await tx('assessment_sessions')
    .where({ id })
    .update({ status: 'completed', completed_at: tx.raw('clock_timestamp()'), visit_id: visitId })
    .returning('completed_at')) as { completed_at: string }[];
  return session!.completed_at;
}

/** Marks a batch of sessions as expired; locked ones are left to the next sweep. */
export async function expireDueSessionRows(tx: Tx, limit: number): Promise<{ id: string; study_id: string }[]> {
  const rows = await query<{ id: string; study_id: string }>(
    tx,
    `with due as materialized (
       select d.id from assessment_sessions d where d.status = 'active' and d.source = 'online'
         and d.expires_at <= clock_timestamp()
       order by d.expires_at limit $1 for update skip locked)
     update assessment_sessions s set status = 'expired' from due where s.id = due.id
     returning s.id, s.study_id`,
    [limit],
  );
  return rows;
}

// --- facts for starting a session

export interface StartVisit {
  id: string;
  visit_key: string;
  status: string;
  window_open: string;
  window_close: string;
  battery_id: number | null;
  today: string;
}
const VISIT = `select v.id, v.visit_key, v.status, v.window_open, v.window_close, v.battery_id,
  (now() at time zone coalesce(t.timezone, s.timezone))::date as today
  from scheduled_visits v join participants p on p.id = v.participant_id join studies s on s.id = p.study_id
    left join sites t on t.id = p.site_id`;

export async function visitToStart(tx: Tx, participantId: string, visitId: string): Promise<StartVisit | undefined> {
  return (
    await query<StartVisit>(tx, `${VISIT} where v.participant_id = $1 and v.id = $2 for update of v`, [
      participantId,
      visitId,
    ])
  )[0];
}

/** Visits whose window includes today in the participant's time zone; the hourly job may not have opened them yet. */
export async function openVisits(tx: Tx, participantId: string): Promise<StartVisit[]> {
  return await query<StartVisit>(
    tx,
    `select * from (${VISIT} where v.participant_id = $1 and v.status in ('scheduled', 'open')) v
      where v.window_open <= v.today and v.today <= v.window_close order by v.id`,
    [participantId],
  );
}

/** The version of a battery that a session starting now uses: the newest published, else the draft. */
export async function currentBattery(
  tx: Tx,
  id: number,
  studyId: string,
): Promise<{ id: number; version: number } | undefined> {
  return tx('batteries')
    .where({ id, study_id: studyId })
    .first('id', tx.raw('coalesce(published_version, version) as version'));
}
