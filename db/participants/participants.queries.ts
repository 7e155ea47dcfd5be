import { Participant } from '../models/records.js';
import type { PageStatement } from '../client/request.js';
import { orderBy } from '../client/paging.js';
import type { Page } from '../client/paging.js';
import { query } from '../client/query.js';
import type { Statement } from '../client/query.js';
import { hasEnded } from '../studies/study-ended.js';
import type { Tx } from '../client/database.js';

export type ParticipantRecord = Pick<
  Participant,
  | 'id'
  | 'study_id'
  | 'participant_code'
  | 'external_id'
  | 'site_id'
  | 'preferred_language'
  | 'status'
  | 'enrollment_date'
  | 'email'
  | 'phone'
  | 'timezone'
  | 'date_of_birth'
  | 'arm'
  | 'withdrawn_at'
  | 'withdrawal_reason'
  | 'reinstated_at'
  | 'created_at'
  | 'updated_at'
> & { site_code: string | null };

const COLUMNS = `p.id, p.study_id, p.participant_code, p.external_id, p.site_id, s.site_code, p.preferred_language,
  p.status, p.enrollment_date,
  p.email, p.phone, p.timezone, p.date_of_birth, p.arm, p.withdrawn_at, p.withdrawal_reason, p.reinstated_at,
    p.created_at, p.updated_at`;
const SORTS = {
  created_at: 'p.created_at',
  participant_code: 'p.participant_code',
  enrollment_date: 'p.enrollment_date',
  status: 'p.status',
  updated_at: 'p.updated_at',
};
export const participantSorts = ['created_at', 'participant_code', 'enrollment_date', 'status', 'updated_at'] as const;

export interface ParticipantFilter extends Page {
  studyId?: string | undefined;
  status?: string | undefined;
  /** Matches anywhere in code, external id or email. */
  search?: string | undefined;
  /** Matches anywhere in code or external id. */
  code?: string | undefined;
  siteCode?: string | undefined;
}

/**
 * A page of participants with the number of all matches, in one statement. `search` matches anywhere in code, external
 * id or email, literally.
 */
export function participantsPage(filter: ParticipantFilter): PageStatement {
  const values: (string | number)[] = [];
  const value = (input: string | number) => `$${values.push(input)}`;
  const conditions = ['true'];
  if (filter.studyId) conditions.push(`p.study_id = ${value(filter.studyId)}`);
  if (filter.status) conditions.push(`p.status = ${value(filter.status)}`);
  if (filter.siteCode)
    conditions.push(`p.site_id in (select id from sites where site_code = ${value(filter.siteCode)})`);
  if (filter.code)
    conditions.push(
      `position(folded(${value(filter.code)}) in folded(concat_ws(chr(10), p.participant_code, p.external_id))) > 0`,
    );
  if (filter.search)
    conditions.push(
      `position(folded(${value(filter.search)}) in folded(concat_ws(chr(10), p.participant_code, p.external_id, ` +
        'p.email))) > 0',
    );
  const found = `from participants p where ${conditions.join(' and ')}`;
  const order = orderBy(filter.sort, SORTS, 'p.id');
  return {
    sql: `select ${COLUMNS}, t.total from (select count(*) as total ${found}) t
      left join (select p.* ${found} order by ${order} offset ${value(filter.skip)} limit ${value(filter.limit)}) p
        on true
      left join sites s on s.id = p.site_id order by ${order}`,
    values,
  };
}

export type PageRow = ParticipantRecord & { total: number };

/** The page from the rows of `participantsPage`. */
export const participantsIn = (rows: readonly PageRow[]): { items: ParticipantRecord[]; total: number } => ({
  items: rows.filter(({ id }) => id !== null),
  total: Number(rows[0]!.total),
});

/** A participant's next visit that is upcoming or open, and the day of the last session's start, in its zone. */
export interface NextRow {
  id: string;
  visit: string | null;
  target_date: string | null;
  last_session: string | null;
}
/** The next visits of these participants, a `NextRow` each. */
export const nextStatement = (ids: readonly string[]): Statement => ({
  sql: `select p.id, v.name as visit, v.target_date, ((select max(a.started_at) from assessment_sessions a
    where a.participant_id = p.id) at time zone coalesce(p.timezone, t.timezone, s.timezone))::date as last_session
     from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
     left join lateral (select name, target_date from scheduled_visits v
       where v.participant_id = p.id and v.status in ('scheduled', 'open') and p.status = 'enrolled'
       and not ${hasEnded('s')}
       and v.window_close >= (clock_timestamp() at time zone coalesce(t.timezone, s.timezone))::date
         order by v.target_date, v.id limit 1) v on true
     where p.id = any($1::uuid[])`,
  values: [[...ids]],
});

/** Statement for a participant; returns a `ParticipantRecord`. */
export const participantStatement = (id: string): Statement => ({
  sql: `select ${COLUMNS} from participants p left join sites s on s.id = p.site_id where p.id = $1`,
  values: [id],
});

const withSite = (tx: Tx) => tx('participants as p').leftJoin('sites as s', 's.id', 'p.site_id');

export async function participantById(tx: Tx, id: string): Promise<ParticipantRecord | undefined> {
  return withSite(tx).where('p.id', id).first(tx.raw(COLUMNS)) as Promise<ParticipantRecord | undefined>;
}

export async function participantByCode(tx: Tx, studyId: string, code: string): Promise<ParticipantRecord | undefined> {
  return withSite(tx).where({ 'p.study_id': studyId, 'p.participant_code': code }).first(tx.raw(COLUMNS)) as Promise<
    ParticipantRecord | undefined
  >;
}

/** A participant, its row locked until the commit. */
export async function participantForUpdate(tx: Tx, id: string): Promise<ParticipantRecord | undefined> {
  return withSite(tx).where('p.id', id).forUpdate('p').first(tx.raw(COLUMNS)) as Promise<ParticipantRecord | undefined>;
}

/** A participant with a shared lock until the commit: a withdrawal waits, other readers do not. */
export async function participantForShare(tx: Tx, id: string): Promise<ParticipantRecord | undefined> {
  return withSite(tx).where('p.id', id).forShare('p').first(tx.raw(COLUMNS)) as Promise<ParticipantRecord | undefined>;
}

/** Inserts a participant with its initial anchor: `unset`, version 1. */
export async function insertParticipant(
  tx: Tx,
  participant: Partial<Participant> & { study_id: string; participant_code: string },
): Promise<string> {
  const row = await Participant.query(tx).insert(participant).returning('id');
  await tx('anchor_dates').insert({ participant_id: row.id, study_id: participant.study_id });
  return row.id;
}

export async function updateParticipant(tx: Tx, id: string, change: Partial<Participant>): Promise<void> {
  if (Object.keys(change).length > 0) await Participant.query(tx).findById(id).patch(change);
}

/** Whether the participant has any recorded data: then it is never deleted. */
export async function participantHasData(tx: Tx, id: string): Promise<boolean> {
  const tables = [
    'consents',
    'eligibility_assessments',
    'randomizations',
    'form_instances',
    'manual_anchor_entries',
    'anchor_date_history',
    'override_requests',
    'assessment_sessions',
    'sync_conflicts',
  ];
  const rows = await query<{ has: boolean }>(
    tx,
    `select ${tables.map((table) => `exists (select from ${table} where participant_id = $1)`).join(' or ')}
       or exists (select from scheduled_visits
         where participant_id = $1 and (status = 'completed' or schedule_version_id is null)) as has`,
    [id],
  );
  return rows[0]!.has;
}

export async function deleteParticipant(tx: Tx, id: string): Promise<void> {
  await Participant.query(tx).deleteById(id);
}
