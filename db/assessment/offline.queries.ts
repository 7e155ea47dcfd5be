import { sessionStatus } from '../scheduling/effective-status.js';
import { prepared, query } from '../client/query.js';
import { linesAt, toPlainArray, toTextArray } from '../client/sets/text-arrays.js';
import type { Tx } from '../client/database.js';

export interface ParticipantRef {
  study_id: string;
  ref: string;
  as_id: string | null;
}
export interface SyncParticipantRow {
  id: string;
  study_id: string;
  participant_code: string;
  site_id: string | null;
  zone: string;
  preferred_language: string | null;
  withdrawn_ms: number | null;
  entered_ms: number;
  /** Its identity was erased: nothing more is recorded of it. */
  erased: boolean;
}

/**
 * The participants that items name by id or code and that the caller may see. `lock` locks them against a withdrawal
 * and against another sync of the same participant, in the order of their ids.
 */
export async function syncParticipants(
  tx: Tx,
  refs: readonly ParticipantRef[],
  lock: boolean,
): Promise<SyncParticipantRow[]> {
  // A device's items are mostly of one person: each is looked up once.
  const named = [...new Map(refs.map((ref) => [`${ref.study_id} ${ref.ref}`, ref])).values()];
  return prepared(
    tx,
    `with n as (select * from unnest($1::uuid[], $2::text[], $3::uuid[]) as n(study_id, ref, as_id)),
     found as (select p.id from n join participants p on p.id = n.as_id and p.study_id = n.study_id
       union select p.id from n join participants p on p.study_id = n.study_id and p.participant_code = n.ref)
     select p.id, p.study_id, p.participant_code, p.site_id, coalesce(t.timezone, s.timezone) as zone,
       p.preferred_language,
       (extract(epoch from p.withdrawn_at) * 1000)::double precision as withdrawn_ms,
       (extract(epoch from p.created_at) * 1000)::double precision as entered_ms, p.erased_at is not null as erased
     from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
     where p.id in (select id from found) order by p.id ${lock ? 'for no key update of p' : ''}`,
    [named.map((n) => n.study_id), named.map((n) => n.ref), named.map((n) => n.as_id)],
  );
}

export interface SyncVisitRow {
  id: string;
  visit_key: string;
  participant_id: string;
  status: string;
  window_open: string;
  window_close: string;
  battery_id: number | null;
  is_baseline: boolean;
}

/**
 * All visits of these participants. Locks first and reads afterwards, so that rows which a re-anchoring just replaced
 * are seen.
 */
export async function syncVisits(tx: Tx, participantIds: readonly string[], lock: boolean): Promise<SyncVisitRow[]> {
  if (lock)
    await prepared(tx, 'select 1 from scheduled_visits where participant_id = any($1::uuid[]) order by id for update', [
      [...participantIds],
    ]);
  return prepared(
    tx,
    `select id, visit_key, participant_id, status, window_open, window_close, battery_id, is_baseline
      from scheduled_visits where participant_id = any($1::uuid[])`,
    [[...participantIds]],
  );
}

export async function syncBatteries(
  tx: Tx,
  ids: readonly number[],
): Promise<{ id: number; study_id: string; current_version: number }[]> {
  if (ids.length === 0) return [];
  return tx('batteries')
    .whereIn('id', [...ids])
    .select('id', 'study_id', tx.raw('coalesce(published_version, version) as current_version'));
}

export interface LocalSessionRow {
  id: string;
  study_id: string;
  local_id: string;
  participant_id: string;
  status: string;
  content_hash: string | null;
  start_hash: string | null;
  started_at: string;
  completed_at: string | null;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  timezone: string | null;
  device_id: string | null;
  started_device_id: string | null;
}
/**
 * Sessions of participants by these local ids, of any device. Each list is separate: joined as pairs, a table without
 * statistics would be read once for every pair.
 */
export async function sessionsByLocalId(
  tx: Tx,
  keys: readonly { participant_id: string; local_id: string; device_id?: string | null }[],
  lock = false,
): Promise<LocalSessionRow[]> {
  const rows = await prepared<LocalSessionRow>(
    tx,
    `select s.id, s.study_id, s.local_id, s.participant_id, s.status, s.content_hash, s.start_hash, s.started_at,
      s.completed_at, s.visit_id, s.battery_id, s.battery_version,
       s.language, s.timezone, coalesce(s.device_id, case when s.device_key is not null
         then (select d from unnest($3::text[]) d where hashtextextended(d, 0)::text = s.device_key limit 1)
         end) as device_id,
       s.started_device_id
     from assessment_sessions s where s.participant_id = any($1::uuid[]) and s.local_id is not null
       and s.local_id = any($2::text[]) order by s.id ${lock ? 'for update of s' : ''}`,
    [
      [...new Set(keys.map((key) => key.participant_id))],
      [...new Set(keys.map((key) => key.local_id))],
      [...new Set(keys.flatMap((key) => key.device_id ?? []))],
    ],
  );
  const asked = new Set(keys.map((key) => `${key.participant_id} ${key.local_id}`));
  return rows.filter((row) => asked.has(`${row.participant_id} ${row.local_id}`));
}

/** Sessions of these participants by server id, in their current state. */
export async function sessionsByServerId(
  tx: Tx,
  ids: readonly string[],
  participantIds: readonly string[],
  lock: boolean,
): Promise<LocalSessionRow[]> {
  if (ids.length === 0) return [];
  return prepared(
    tx,
    `select s.id, s.study_id, s.id::text as local_id, s.participant_id, ${sessionStatus('s')} as status, s.content_hash,
      s.start_hash, s.started_at, s.completed_at, s.visit_id, s.battery_id,
       s.battery_version, s.language, s.timezone, s.device_id, s.started_device_id
     from assessment_sessions s where s.id = any($1::uuid[]) and s.participant_id = any($2::uuid[])
       order by s.id ${lock ? 'for update of s' : ''}`,
    [[...ids], [...participantIds]],
  );
}

/** The participants with sessions under these local ids in a study, if the caller may see them. */
export async function sessionsInStudies(
  tx: Tx,
  keys: readonly { study_id: string; local_id: string }[],
): Promise<{ id: string; study_id: string; local_id: string }[]> {
  return prepared(
    tx,
    `select s.id, s.study_id, s.local_id from assessment_sessions s join participants p on p.id = s.participant_id
     where s.local_id is not null and s.local_id = any($2::text[]) and s.study_id = any($1::uuid[])`,
    [[...new Set(keys.map((key) => key.study_id))], [...new Set(keys.map((key) => key.local_id))]],
  );
}

export interface ResponseSessionRow {
  id: string;
  study_id: string;
  local_id: string | null;
  participant_id: string;
  device_id: string | null;
  started_device_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  started_by_id: string | null;
  started_ms: number;
  /** Its participant's identity was erased. */
  erased: boolean;
  /** Another session with the same local id was refused: items with that id may belong to either. */
  contested: boolean;
}
/**
 * Sessions that responses name by server id, or by the local id of one of `participants`.
 * @param own the participant that the caller is: sessions of others are neither read nor locked
 */
export async function sessionsOfResponses(
  tx: Tx,
  named: { ids: readonly string[]; localIds: readonly string[]; participants: readonly string[]; own: string | null },
  lock: boolean,
): Promise<ResponseSessionRow[]> {
  return prepared(
    tx,
    `select s.id, s.study_id, s.local_id, s.participant_id, s.battery_id, s.battery_version, s.started_by_id,
      s.device_id, s.started_device_id, p.erased_at is not null as erased,
       (extract(epoch from s.started_at) * 1000)::double precision as started_ms,
       case when s.source = 'online' and s.status = 'completed' and s.content_hash is null
         then (extract(epoch from s.completed_at) * 1000)::float8 end as ended_ms,
       s.local_id is not null and exists (select from sync_conflicts c where c.participant_id = s.participant_id
         and c.session_id = s.id and c.conflict_type = 'duplicate_session'
         and (c.local_content->>'startedAt')::timestamptz <> s.started_at) as contested
     from assessment_sessions s join participants p on p.id = s.participant_id
     where (s.id = any($1::uuid[]) or (s.participant_id = any($3::uuid[]) and s.local_id is not null
       and s.local_id = any($2::text[]))) and ($4::uuid is null or s.participant_id = $4)
     order by s.id ${lock ? 'for update of s' : ''}`,
    [[...named.ids], [...named.localIds], [...named.participants], named.own],
  );
}

/**
 * The sessions of a study under one local id: how many and one of them; how many the user synced and the newest of
 * those.
 */
export interface LocalIdHolders {
  local_id: string;
  /** As requested; null: of any device. */
  device_id: string | null;
  study_id: string;
  sessions: number;
  own: number;
  own_id: string | null;
  own_newest: string | null;
}
/**
 * Local ids by study, of participants that the caller may see; the study that the user synced last comes first.
 * Counted, not listed: where devices number alike, a whole study has the same ids.
 */
export async function localIdHolders(
  tx: Tx,
  asked: readonly { local_id: string; device_id: string | null }[],
  userId: string | null,
): Promise<LocalIdHolders[]> {
  return prepared(
    tx,
    `select a.local_id, a.device_id, s.study_id, count(*)::integer as sessions,
      (count(*) filter (where s.started_by_id = $2))::integer as own,
       (array_agg(s.id order by s.created_at desc, s.id) filter (where s.started_by_id = $2))[1] as own_id,
         max(s.created_at) filter (where s.started_by_id = $2) as own_newest
     from unnest($1::text[], $3::text[]) as a(local_id, device_id)
       join assessment_sessions s on s.local_id is not null and s.local_id = a.local_id
         and (a.device_id is null or a.device_id in (s.device_id, s.started_device_id))
       join participants p on p.id = s.participant_id
     group by a.local_id, a.device_id, s.study_id order by own_newest desc nulls last, s.study_id`,
    [asked.map(({ local_id }) => local_id), userId, asked.map(({ device_id }) => device_id)],
  );
}

/** Sessions under these local ids that have one of these responses, compared by id and content. */
export async function sessionsWithResponses(
  tx: Tx,
  localIds: readonly string[],
  responses: readonly { id: string; hash: string }[],
): Promise<string[]> {
  const rows = await prepared<{ id: string }>(
    tx,
    `select distinct s.id from assessment_sessions s join participants p on p.id = s.participant_id
      join session_tasks t on t.session_id = s.id
     where s.local_id is not null and s.local_id = any($1::text[]) and t.local_id = any($2::text[])
       and t.content_hash = any($3::text[])`,
    [[...localIds], responses.map(({ id }) => id), responses.map(({ hash }) => hash)],
  );
  return rows.map(({ id }) => id);
}

/** Current ids of refused sessions that were kept beside the server's: by participant, local id and content. */
export async function sessionsKeptBeside(
  tx: Tx,
  keys: readonly { participant_id: string; local_id: string; content_hash: string }[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await prepared<{ content_hash: string; beside: string }>(
    tx,
    `select c.content_hash, c.server_content->>'beside_session_id' as beside from sync_conflicts c
     where c.participant_id = any($1::uuid[]) and c.local_id = any($2::text[]) and c.content_hash = any($3::text[])
       and c.kind = 'session' and c.conflict_type = 'duplicate_session' and c.keep = 'both'`,
    [keys.map((key) => key.participant_id), keys.map((key) => key.local_id), keys.map((key) => key.content_hash)],
  );
  // The content includes participant and local id, so the hash is enough.
  return new Map(rows.map((row) => [row.content_hash, row.beside]));
}

export interface OfflineSessionRow extends Omit<LocalSessionRow, 'status' | 'started_device_id'> {
  status: string;
  site_id: string | null;
  expires_at: string;
  clock_skew_ms: number | null;
  quality_flags: readonly object[];
  started_by_id: string | null;
}
const SESSION_TYPES = {
  id: 'uuid',
  study_id: 'uuid',
  site_id: 'uuid',
  participant_id: 'uuid',
  visit_id: 'uuid',
  battery_id: 'integer',
  battery_version: 'integer',
  language: 'text',
  status: 'text',
  local_id: 'text',
  device_id: 'text',
  clock_skew_ms: 'bigint',
  quality_flags: 'jsonb',
  content_hash: 'text',
  start_hash: 'text',
  started_by_id: 'uuid',
  started_at: 'timestamptz',
  expires_at: 'timestamptz',
  completed_at: 'timestamptz',
  timezone: 'text',
} as const satisfies Record<keyof OfflineSessionRow, string>;
const SESSION_COLUMNS = Object.keys(SESSION_TYPES) as (keyof OfflineSessionRow)[];
// Arrays of columns: of a JSON document the database takes each row apart, and all columns of the table from it.
const INSERT_SESSIONS = `insert into assessment_sessions
  (${SESSION_COLUMNS.join(', ')}, source, created_at, updated_at)
  select ${SESSION_COLUMNS.join(', ')}, 'offline', now(), now()
  from unnest(${SESSION_COLUMNS.map((column, i) => `$${i + 1}::${SESSION_TYPES[column]}[]`).join(', ')})
    as n(${SESSION_COLUMNS.join(', ')})`;

export async function insertOfflineSessions(tx: Tx, rows: readonly OfflineSessionRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = SESSION_COLUMNS.map((column) => {
    if (column === 'quality_flags') return rows.map((row) => JSON.stringify(row.quality_flags));
    const own = rows.map((row) => row[column] as string | number | null);
    return SESSION_TYPES[column] === 'text' ? own : toPlainArray(own);
  });
  await prepared(tx, INSERT_SESSIONS, values);
}

export interface NewConflict {
  study_id: string;
  participant_id: string;
  kind: 'session' | 'response';
  conflict_type: string;
  resolution: string;
  local_id: string;
  session_id: string;
  task: string | null;
  message: string;
  /** JSON: it may be megabytes long, and is serialized before. */
  local_content: string;
  server_content: unknown;
  content_hash: string;
}
/** What tells one conflict from another. */
export type ConflictKey = Pick<NewConflict, 'study_id' | 'kind' | 'conflict_type' | 'local_id' | 'content_hash'>;
/**
 * Stores refused items. The same item again is the same conflict; responses of a refused session are stored with it,
 * also later ones. A conflict that was resolved without these is open again. Returns the conflicts that this changed.
 */
export async function insertConflicts(tx: Tx, rows: readonly NewConflict[]): Promise<ConflictKey[]> {
  if (rows.length === 0) return [];
  const columns =
    'study_id, participant_id, kind, conflict_type, resolution, local_id, session_id, task, message, ' +
    'server_content, content_hash';
  return query<ConflictKey>(
    tx,
    `insert into sync_conflicts as k (${columns}, local_content) select ${columns}, t.content::jsonb
     from rows from (jsonb_to_recordset($1::jsonb) as (study_id uuid, participant_id uuid, kind text,
       conflict_type text, resolution text, local_id text,
       session_id uuid, task text, message text, server_content jsonb, content_hash text), unnest(${linesAt(2)}))
       as t(${columns}, content)
     on conflict (study_id, kind, conflict_type, local_id, content_hash) do update
       set local_content = k.local_content || jsonb_build_object('responses',
       coalesce(k.local_content->'responses', '[]') || (select jsonb_agg(r)
         from jsonb_array_elements(excluded.local_content->'responses') r where ${NOT_KEPT})),
         status = 'open', keep = null, reason = null, resolved_by_id = null, resolved_at = null
     where exists (select from jsonb_array_elements(excluded.local_content->'responses') r where ${NOT_KEPT})
     returning study_id, kind, conflict_type, local_id, content_hash`,
    [
      JSON.stringify(rows.map(({ local_content: _, ...row }) => row)),
      toTextArray(rows.map((row) => row.local_content)),
    ],
  );
}
const NOT_KEPT =
  `not coalesce(k.local_content->'responses', '[]') @> jsonb_build_array(jsonb_build_object('id', r->'id', ` +
  `'sha256', r->'sha256'))`;
