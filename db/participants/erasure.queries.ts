import { columnsForJson } from '../client/instants.js';
import { putOutbox } from '../outbox/outbox.js';
import { forgetDetails } from './message-details.queries.js';
import { execute, query } from '../client/query.js';
import { Eligibility } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** Identity fields of a participant. */
export const IDENTITY = ['email', 'phone', 'date_of_birth'] as const;

export interface Erased {
  forms: number;
  decisions: number;
  devices: number;
  notifications: number;
  caregivers: number;
  exports: number;
}

/** Names of form items with an identity field of the participant, by the study's capture-system mapping. */
export async function mappedIdentityItems(tx: Tx, studyId: string): Promise<string[]> {
  const row = (await tx('datacapture_configs').where({ study_id: studyId }).first('participant_field_mapping')) as
    { participant_field_mapping: Record<string, string> } | undefined;
  return IDENTITY.flatMap((field) => row?.participant_field_mapping[field] ?? []);
}

/** SQL: the objects of a JSON value, itself and those inside of it. */
const objectsIn = (value: string): string => `jsonb_path_query(${value}, 'strict $.** ? (@.type() == "object")')`;

/**
 * Those of the names that items of the study's forms have in any case, at any depth, or the participant's decisions
 * quote.
 */
export async function knownItems(
  tx: Tx,
  of: { study_id: string; participant_id: string },
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const rows = await query<{ name: string }>(
    tx,
    `select n as name from unnest($3::text[]) n where folded(n) in (
       select folded(k) from form_instances f, ${objectsIn('f.items')} o, jsonb_object_keys(o) k where f.study_id = $1
       union
       select folded(k) from anchor_decisions d,
         jsonb_array_elements(case when jsonb_typeof(d.facts->'forms') = 'array' then d.facts->'forms' else '[]' end) f,
         ${objectsIn(`f->'items'`)} o, jsonb_object_keys(o) k
        where d.participant_id = $2)`,
    [of.study_id, of.participant_id, [...names]],
  );
  return new Set(rows.map(({ name }) => name));
}

/** When the participant was erased; null: never. */
export async function erasedAt(tx: Tx, id: string): Promise<string | null> {
  const row = (await tx('participants').where({ id }).first('erased_at')) as { erased_at: string | null } | undefined;
  return row?.erased_at ?? null;
}

/** @param code the participant's new code; null: unchanged. The participant must be locked, withdrawn and visible. */
export async function eraseIdentity(
  tx: Tx,
  input: { id: string; study_id: string; by: string; reason: string; code: string | null; items: readonly string[] },
): Promise<Erased> {
  // Counted before the address goes, with which devices of the portal go too.
  const phones = await tx('push_tokens').where({ participant_id: input.id }).delete();
  const rows = await query<{ erased: Omit<Erased, 'caregivers' | 'exports'> }>(
    tx,
    'select erase_participant($1, $2, $3, $4, $5::text[]) as erased',
    [input.id, input.by, input.reason, input.code, [...input.items]],
  );
  const { erased } = rows[0]!;
  // Refused items of a device are stored as sent, and people name devices after themselves.
  await execute(
    tx,
    `update sync_conflicts set local_content = local_content || '{"deviceId": null}',
       server_content = case when server_content ? 'deviceId' then server_content || '{"deviceId": null}'
         else server_content end
     where participant_id = $1
       and (local_content->>'deviceId' is not null or server_content->>'deviceId' is not null)`,
    [input.id],
  );
  const [care] = await query<{ ended: number }>(tx, 'select end_care($1) as ended', [input.id]);
  await forgetDetails(tx, input.id);
  await execute(tx, 'select erase_reasons($1, $2), erase_visit_texts($1)', [input.id, input.reason]);
  await execute(tx, 'select erase_inputs($1, $2::text[])', [input.id, [...input.items]]);
  await eraseReferences(tx, input.id);
  await forgetAnswers(tx, input);
  const files = await endExports(tx, input.study_id, input.id);
  return { ...erased, devices: erased.devices + phones, caregivers: care!.ended, exports: files };
}

/** The reference of a document that was seen names it as its file does elsewhere, often by the person. */
async function eraseReferences(tx: Tx, participantId: string): Promise<void> {
  const assessed = await Eligibility.query(tx)
    .where({ participant_id: participantId })
    .select('id', 'source_documents');
  for (const { id, source_documents } of assessed) {
    const documents = source_documents as { ref?: string | null }[];
    if (documents.some(({ ref }) => ref != null))
      await Eligibility.query(tx)
        .findById(id)
        .patch({ source_documents: documents.map((one) => (one.ref == null ? one : { ...one, ref: '[erased]' })) });
  }
}

/**
 * Deletes answers that are stored for repeated requests and tell of the participant without its id: their path has the
 * id, or they are of an imported file, as it was sent, or of a message to somebody. The answer of this request is not
 * stored yet.
 */
async function forgetAnswers(tx: Tx, { id, study_id }: { id: string; study_id: string }): Promise<void> {
  await tx('idempotency_keys')
    .whereNotNull('body')
    .where((either) => {
      void either.whereRaw('position(? in lower(path)) > 0', [id.toLowerCase()]);
      void either.orWhereRaw('position(? in lower(path)) = 1', [`/api/studies/${study_id}/participants/import/`]);
      void either.orWhereLike('path', '/api/notifications/preview%');
    })
    .delete();
}

/**
 * Ends the study's background exports that include the participant: a file expires at once, and an export that is being
 * written or queued fails, since it may have read the removed data. None can begin before the commit: the table is
 * locked against writers. @returns how many
 */
async function endExports(tx: Tx, studyId: string, participantId: string): Promise<number> {
  await execute(tx, 'lock table exports in share row exclusive mode');
  const rows = await query<{ id: string }>(
    tx,
    `update exports set status = case when status = 'completed' then 'expired' else 'failed' end,
       expires_at = case when status = 'completed' then clock_timestamp() else expires_at end,
         completed_at = coalesce(completed_at, clock_timestamp()),
       error = case when status = 'completed' then error else 'A participant was erased meanwhile: ask for it again.'
         end
      where study_id = $1 and status in ('pending', 'running', 'completed')
        and coalesce(filters->>'deidentify', 'false') <> 'true'
        and (filters->'participant_ids' is null or filters->'participant_ids' @> to_jsonb($2::text))
      returning id`,
    [studyId, participantId],
  );
  await putOutbox(
    tx,
    rows.map(({ id }) => ({ topic: 'export', studyId, subject: id, payload: { ended: true } })),
  );
  return rows.length;
}

/** A table with a participant's data; `session`: by the participant's sessions. */
interface Kept {
  table: string;
  of?: 'id' | 'session';
  order: string;
  without?: string;
}
/** All stored data of a participant, by its names in the document. */
const KEPT: Record<string, Kept> = {
  participant: { table: 'participants', of: 'id', order: 't.id', without: 'erased_by_id' },
  // Caregivers by id and relationship only: their addresses are another person's data.
  caregivers: { table: 'caregiver_participants', order: 't.created_at, t.caregiver_id', without: 'created_by' },
  anchor_date: { table: 'anchor_dates', order: 't.id' },
  anchor_date_history: { table: 'anchor_date_history', order: 't.seq' },
  manual_dates: { table: 'manual_anchor_entries', order: 't.entered_at, t.id' },
  decisions: { table: 'anchor_decisions', order: 't.history_id' },
  commands: { table: 'anchor_commands', order: 't.created_at, t.id' },
  message_details: { table: 'message_details', order: 't.created_at, t.id' },
  consents: { table: 'consents', order: 't.created_at, t.id' },
  eligibility: { table: 'eligibility_assessments', order: 't.id' },
  randomization: { table: 'randomizations', order: 't.id' },
  forms: { table: 'form_instances', order: 't.created_at, t.id' },
  override_requests: { table: 'override_requests', order: 't.id' },
  schedule_versions: { table: 'schedule_versions', order: 't.version_number' },
  visits: { table: 'scheduled_visits', order: 't.target_date, t.id' },
  visit_states: { table: 'visit_states', order: 't.seq' },
  sessions: { table: 'assessment_sessions', order: 't.started_at, t.id' },
  results: { table: 'session_tasks', of: 'session', order: 't.submitted_at, t.session_id, t.task' },
  raw_trials: { table: 'raw_trial_chunks', of: 'session', order: 't.session_id, t.task, t.chunk' },
  sync_conflicts: { table: 'sync_conflicts', order: 't.seq' },
  result_pushes: { table: 'result_pushes', order: 't.requested_at, t.session_id' },
  opt_outs: { table: 'notification_opt_outs', order: 't.channel' },
  dead_addresses: { table: 'dead_addresses', order: 't.channel' },
  // Tokens that open the portal or reach a device are credentials, also for the reader of the document.
  devices: { table: 'push_tokens', order: 't.created_at, t.id', without: 'token' },
  portal_links: { table: 'portal_links', order: 't.made_at, t.notification_id', without: 'token_hash' },
  calendar_feeds: { table: 'calendar_feeds', order: 't.created_at, t.id', without: 'created_by_id' },
  portal_logins: { table: 'portal_refresh_tokens', order: 't.created_at, t.id', without: 'token_hash' },
  notifications: { table: 'notifications', order: 't.created_at, t.id' },
  capture_readings: { table: 'datacapture_sync_records', order: 't.sync_id, t.position' },
  webhook_events: { table: 'webhook_events', order: 't.seq', without: 'raw_body_hash' },
  events: { table: 'domain_events', order: 't.seq' },
};
export const exportedParts = Object.keys(KEPT);
export const exportedTables = Object.values(KEPT).map(({ table }) => table);
const WHOSE = {
  id: 't.id = $1',
  participant: 't.participant_id = $1',
  session: 't.session_id in (select id from assessment_sessions where participant_id = $1)',
};

/** All stored data of a participant, part by part. */
export async function storedDataOf(tx: Tx, participantId: string): Promise<Record<string, Record<string, unknown>[]>> {
  const columns = await columnsForJson(
    tx,
    Object.values(KEPT).map(({ table }) => table),
  );
  const parts = Object.entries(KEPT).map(([part, { table, of, order, without }]) => {
    const list = columns
      .get(table)!
      .filter(({ name }) => name !== without)
      .map(({ sql }) => sql)
      .join(', ');
    return `(select '${part}' as part, to_jsonb(x) as row
      from (select ${list} from ${table} t where ${WHOSE[of ?? 'participant']} order by ${order}) x)`;
  });
  const kept = Object.fromEntries(exportedParts.map((part): [string, Record<string, unknown>[]] => [part, []]));
  // One statement, so that it has one snapshot. Parallel parts would come in any order.
  await execute(tx, 'set local max_parallel_workers_per_gather = 0');
  const rows = await query<{ part: string; row: Record<string, unknown> }>(tx, parts.join(' union all '), [
    participantId,
  ]);
  for (const { part, row } of rows) kept[part]!.push(row);
  return kept;
}
