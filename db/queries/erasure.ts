import type { Tx } from '../knex.js';

/** Fields of a participant that say who it is. */
export const IDENTITY = ['email', 'phone', 'date_of_birth'] as const;

export interface Erased { forms: number; decisions: number; devices: number; notifications: number }

/** Names of form items that hold an identity field of the participant, by the mapping of the study's capture system. */
export async function mappedIdentityItems(tx: Tx, studyId: string): Promise<string[]> {
  const row = await tx('datacapture_configs').where({ study_id: studyId }).first('participant_field_mapping') as { participant_field_mapping: Record<string, string> } | undefined;
  return IDENTITY.flatMap((field) => row?.participant_field_mapping[field] ?? []);
}

/** Whether the participant's identity was erased before. */
export async function erasedAt(tx: Tx, id: string): Promise<string | null> {
  const row = await tx('participants').where({ id }).first('erased_at') as { erased_at: string | null } | undefined;
  return row?.erased_at ?? null;
}

/** @param code what the participant is called from now on; null: as before. The participant must be locked, withdrawn and in reach. */
export async function eraseIdentity(tx: Tx, given: { id: string; by: string; reason: string; code: string | null; items: readonly string[] }): Promise<Erased> {
  const { rows } = await tx.raw('select erase_participant(?, ?, ?, ?, ?::text[]) as erased', [given.id, given.by, given.reason, given.code, [...given.items]]);
  return (rows as { erased: Erased }[])[0]!.erased;
}

const ownRows = (table: string, order: string) => `select to_jsonb(x) as row from ${table} x where x.participant_id = ? order by ${order}`;
const ofSessions = (table: string, order: string) => `select to_jsonb(x) as row from ${table} x where x.session_id in (select id from assessment_sessions where participant_id = ?) order by ${order}`;
/** Everything that is kept of a participant, by the names that the document has for it. */
const KEPT: Record<string, string> = {
  participant: `select to_jsonb(x) - 'erased_by_id' as row from participants x where x.id = ?`,
  anchor_date: ownRows('anchor_dates', 'x.id'),
  anchor_date_history: ownRows('anchor_date_history', 'x.seq'),
  consents: ownRows('consents', 'x.created_at, x.id'),
  eligibility: ownRows('eligibility_assessments', 'x.id'),
  randomization: ownRows('randomizations', 'x.id'),
  forms: ownRows('form_instances', 'x.created_at, x.id'),
  override_requests: ownRows('override_requests', 'x.id'),
  schedule_versions: ownRows('schedule_versions', 'x.version_number'),
  visits: ownRows('scheduled_visits', 'x.target_date, x.id'),
  sessions: ownRows('assessment_sessions', 'x.started_at, x.id'),
  results: ofSessions('session_tasks', 'x.submitted_at, x.session_id, x.task'),
  raw_trials: ofSessions('raw_trial_chunks', 'x.session_id, x.task, x.chunk'),
  sync_conflicts: ownRows('sync_conflicts', 'x.seq'),
  notifications: ownRows('notifications', 'x.created_at, x.id'),
  webhook_events: `select to_jsonb(x) - 'raw_body_hash' as row from webhook_events x where x.participant_id = ? order by x.seq`,
  events: ownRows('domain_events', 'x.seq'),
};
export const exportedParts = Object.keys(KEPT);

/** One part of what is kept of a participant. */
export async function keptOf(tx: Tx, part: string, participantId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await tx.raw(KEPT[part]!, [participantId]);
  return (rows as { row: Record<string, unknown> }[]).map(({ row }) => row);
}
