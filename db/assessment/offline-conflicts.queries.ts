import { raw } from 'objection';
import { page } from '../client/paging.js';
import { uuidIn } from '../client/uuid.js';
import type { Listed, Page } from '../client/paging.js';
import { isOpenSession } from '../scheduling/effective-status.js';
import { AssessmentSession, SyncConflict } from '../models/assessment.js';
import { ScheduledVisit } from '../models/records.js';
import { writtenJson } from '../client/long-json.js';
import type { Tx } from '../client/database.js';

export interface ConflictRecord {
  id: string;
  study_id: string;
  participant_id: string;
  participant_code: string;
  kind: 'session' | 'response';
  conflict_type: string;
  resolution: string;
  local_id: string;
  session_id: string | null;
  task: string | null;
  message: string;
  local_content: Record<string, unknown>;
  server_content: Record<string, unknown> | null;
  status: 'open' | 'resolved';
  keep: 'server' | 'local' | 'both' | null;
  reason: string | null;
  resolved_by_id: string | null;
  resolved_at: string | null;
  detected_at: string;
  imported: boolean;
  imported_by: string | null;
  original_users: Record<string, string> | null;
}
/** A conflict without its contents, which may be megabytes long. */
export type ConflictHead = Omit<ConflictRecord, Side>;
const SIDES = ['local_content', 'server_content'] as const;
type Side = (typeof SIDES)[number];

/** Whose answer a conflict is read for. */
export interface ConflictReader {
  writesSessions: boolean;
}
const WRITER: ConflictReader = { writesSessions: true };

const openSession = (of: string, id: string): string =>
  ` left join lateral (select s.id::text as id, session_public_id(s.id)::text as public_id from assessment_sessions s
    where s.id = ${id} and ${isOpenSession('s')}) ${of} on true`;
/** The session of a conflict `c`, and one that was kept beside it, if they still accept results. */
const OPEN_SESSIONS =
  openSession('o', 'c.session_id') + openSession('b', uuidIn(`c.server_content ->> 'beside_session_id'`));
const publicOf = (text: string, of: string): string =>
  `(case when ${of}.id is null then ${text} else regexp_replace(${text}, ${of}.id, ${of}.public_id, 'gi') end)`;
/**
 * A text for a reader. The id of an active session is the credential for its results: who may not write sessions sees
 * its public id, also in what a device sent.
 */
const textFor = ({ writesSessions }: ConflictReader, text: string): string =>
  writesSessions ? text : publicOf(publicOf(text, 'o'), 'b');
const jsonFor = (reader: ConflictReader, json: string): string =>
  reader.writesSessions ? json : `${textFor(reader, `${json}::text`)}::jsonb`;

const headFor = (reader: ConflictReader): string =>
  `c.id, c.study_id, c.participant_id, p.participant_code, c.kind, c.conflict_type, c.resolution,
   ${textFor(reader, 'c.local_id')} as local_id, ${textFor(reader, 'c.session_id::text')}::uuid as session_id, c.task,
   c.message, c.status, c.keep, c.reason, c.resolved_by_id, c.resolved_at, c.detected_at, c.imported, c.imported_by,
   c.original_users`;
/**
 * A device may have sent megabytes, and a list has hundreds of conflicts. As stored, compressed; what is short then is
 * measured as it is written: the same letters again and again are stored in a hundredth of their length.
 */
const LONG_BYTES = 8_192;
const shortContent = (side: Side): string =>
  `(case when pg_column_size(c.${side}) > ${LONG_BYTES} or octet_length(c.${side}::text) > ${2 * LONG_BYTES}
    then (c.${side} - array['trials', 'responses', 'tasks']) || '{"left_out": ["trials", "responses", "tasks"]}'
    else c.${side} end)`;
const shortColumnsFor = (reader: ConflictReader): string =>
  `${headFor(reader)}, ${SIDES.map((side) => `${jsonFor(reader, shortContent(side))} as ${side}`).join(', ')}`;

/**
 * Conflicts of a study, with their participants, so that isolation by site holds. Long contents are without their
 * trials.
 */
export function listConflicts(
  tx: Tx,
  studyId: string,
  filter: Page & { status?: string | undefined; conflictType?: string | undefined; participantId?: string | undefined },
  reader: ConflictReader,
): Promise<Listed<ConflictRecord>> {
  const found = tx('sync_conflicts as c')
    .join('participants as p', 'p.id', 'c.participant_id')
    .where('c.study_id', studyId)
    .modify((q) => {
      if (!reader.writesSessions) q.joinRaw(OPEN_SESSIONS);
      if (filter.status) q.where('c.status', filter.status);
      if (filter.conflictType) q.where('c.conflict_type', filter.conflictType);
      if (filter.participantId) q.where('c.participant_id', filter.participantId);
    });
  return page(tx, found, shortColumnsFor(reader), filter, { detected_at: 'c.seq', status: 'c.status' }, 'c.seq');
}

/** A side of a conflict as JSON in pieces of UTF-8; none: there is no such content. */
export const writtenContent = (tx: Tx, id: string, side: Side, reader = WRITER): Promise<Buffer[]> =>
  writtenJson(
    tx,
    reader.writesSessions
      ? `select ${side} from sync_conflicts where id = $1`
      : `select ${textFor(reader, `c.${side}::text`)} from sync_conflicts c ${OPEN_SESSIONS} where c.id = $1`,
    [id],
  );

export async function conflictHead(
  tx: Tx,
  studyId: string,
  id: string,
  { lock = false, reader = WRITER }: { lock?: boolean; reader?: ConflictReader } = {},
): Promise<ConflictHead | undefined> {
  const found = tx('sync_conflicts as c')
    .join('participants as p', 'p.id', 'c.participant_id')
    .where({ 'c.study_id': studyId, 'c.id': id });
  if (!reader.writesSessions) void found.joinRaw(OPEN_SESSIONS);
  if (lock) void found.forUpdate('c');
  return found.first(tx.raw(headFor(reader))) as Promise<ConflictHead | undefined>;
}

/** Whether another session had completed a session's visit. */
export async function metCompletedVisit(
  tx: Tx,
  { id, participant_id }: { id: string; participant_id: string },
): Promise<boolean> {
  const met = await SyncConflict.query(tx)
    .findOne({ participant_id, session_id: id, conflict_type: 'visit_already_completed' })
    .select('id');
  return met !== undefined;
}

/** The effect of a resolution on the server's data: replaced, or added to; null: unchanged. */
export type ServerSide = { replaced: Record<string, unknown> } | { added: Record<string, unknown> } | null;

export async function resolveConflict(
  tx: Tx,
  id: string,
  { server, ...options }: { keep: string; reason: string; resolved_by_id: string; server: ServerSide },
): Promise<void> {
  await SyncConflict.query(tx)
    .findById(id)
    .patch({
      ...options,
      ...(server && {
        server_content:
          'replaced' in server
            ? server.replaced
            : raw("coalesce(server_content, '{}') || ?::jsonb", [JSON.stringify(server.added)]),
      }),
      status: 'resolved',
      resolved_at: raw('clock_timestamp()'),
    });
}

/** Overwrites an offline session's own fields with the device's; its identifying fields stay. */
export async function replaceSession(tx: Tx, id: string, change: Partial<AssessmentSession>): Promise<void> {
  await AssessmentSession.query(tx).findById(id).patch(change);
}

/** Copies a session, to keep both results; without a visit, unless `change` has one. */
export async function copySession(tx: Tx, id: string, change: Record<string, unknown>): Promise<string> {
  const columns = [
    'study_id',
    'site_id',
    'participant_id',
    'battery_id',
    'battery_version',
    'language',
    'status',
    'source',
    'device_id',
    'clock_skew_ms',
    'started_by_id',
    'started_at',
    'expires_at',
    'completed_at',
    'timezone',
    'local_id',
    'content_hash',
    'start_hash',
    'imported',
    'imported_by',
    'original_users',
  ];
  const row = (await tx('assessment_sessions').where({ id }).first(columns)) as Record<string, unknown>;
  const [made] = (await tx('assessment_sessions')
    .insert({ ...row, ...change })
    .returning('id')) as { id: string }[];
  return made!.id;
}

/** Makes another session the one that completed a visit. Returns the visit's state before. */
export async function retellVisit(
  tx: Tx,
  visitId: string,
  sessionId: string,
  completedAt: string,
): Promise<{ session_id: string | null; completed_at: string } | undefined> {
  const before = await ScheduledVisit.query(tx)
    .findById(visitId)
    .where({ status: 'completed' })
    .forUpdate()
    .select('session_id', 'completed_at')
    .castTo<{ session_id: string | null; completed_at: string } | undefined>();
  if (!before) return undefined;
  const session = await AssessmentSession.query(tx).findById(sessionId).whereNotNull('completed_at').select('id');
  if (session)
    await ScheduledVisit.query(tx).findById(visitId).patch({ session_id: sessionId, completed_at: completedAt });
  return before;
}

export interface ToldVisit {
  id: string;
  participant_id: string;
  is_baseline: boolean;
  window_open: string;
  window_close: string;
  completed_at: string;
}
/** The visit that a session completed, locked. */
export async function visitToldBy(
  tx: Tx,
  session: { id: string; participant_id: string },
): Promise<ToldVisit | undefined> {
  return tx('scheduled_visits')
    .where({ participant_id: session.participant_id, session_id: session.id, status: 'completed' })
    .forUpdate()
    .first('id', 'participant_id', 'is_baseline', 'window_open', 'window_close', 'completed_at');
}

/** The earliest of the visit's other completed sessions. */
export async function completedSessionOf(
  tx: Tx,
  visitId: string,
  but: string,
): Promise<{ id: string; started_at: string; completed_at: string; created_at: string } | undefined> {
  return tx('assessment_sessions')
    .where({ visit_id: visitId, status: 'completed' })
    .whereNot({ id: but })
    .orderBy(['completed_at', 'id'])
    .first('id', 'started_at', 'completed_at', 'created_at');
}

export async function isVisitOf(tx: Tx, id: string, participantId: string): Promise<boolean> {
  return (await tx('scheduled_visits').where({ id, participant_id: participantId }).first('id')) !== undefined;
}
