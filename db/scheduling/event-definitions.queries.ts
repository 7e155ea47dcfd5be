import { PRESENT_STATUS, WHERE_VISIT_IS } from './effective-status.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

export interface Repeating {
  count: number;
  every_days: number;
}
export interface EventDefinitionRecord {
  id: string;
  study_id: string;
  event_oid: string;
  name: string;
  target_day: number;
  window_before: number;
  window_after: number;
  battery_id: number | null;
  is_baseline: boolean;
  repeating: Repeating | null;
  datacapture_event: string | null;
  sort_order: number;
  created_at: string;
  updated_at: string;
}
export type EventDefinitionFields = Partial<
  Omit<EventDefinitionRecord, 'id' | 'study_id' | 'created_at' | 'updated_at'>
>;

export const EVENT_COLUMNS = `id, study_id, event_oid, name, target_day, window_before, window_after, battery_id,
  is_baseline,
  case when repeat_count is null
    then null else json_build_object('count', repeat_count, 'every_days', repeat_every_days) end as repeating,
  datacapture_event, sort_order, created_at, updated_at`;

export function listEventDefinitions(tx: Tx, studyId: string, paging: Page): Promise<Listed<EventDefinitionRecord>> {
  return page(
    tx,
    tx('event_definitions').where({ study_id: studyId }),
    EVENT_COLUMNS,
    paging,
    { sort_order: 'sort_order', target_day: 'target_day', event_oid: 'event_oid', created_at: 'created_at' },
    'id',
  );
}

export async function eventDefinitionById(
  tx: Tx,
  id: string,
  lock = false,
): Promise<EventDefinitionRecord | undefined> {
  const found = tx('event_definitions').where({ id });
  if (lock) void found.forUpdate();
  return found.first(tx.raw(EVENT_COLUMNS)) as Promise<EventDefinitionRecord | undefined>;
}

export async function insertEventDefinition(tx: Tx, studyId: string, fields: EventDefinitionFields): Promise<string> {
  const [row] = await tx('event_definitions')
    .insert({ study_id: studyId, ...columnsOf(fields) })
    .returning('id');
  return row.id;
}

export async function updateEventDefinition(tx: Tx, id: string, fields: EventDefinitionFields): Promise<void> {
  const columns = columnsOf(fields);
  if (Object.keys(columns).length > 0) await tx('event_definitions').where({ id }).update(columns);
}

/**
 * Deletes an event; its instances stay, without it.
 * @returns false if one of them has been completed meanwhile: the caller rolls back
 */
export async function deleteEventDefinition(tx: Tx, id: string): Promise<boolean> {
  const released = (await tx('scheduled_visits')
    .where({ event_definition_id: id })
    .update({ event_definition_id: null })
    .returning('status')) as { status: string }[];
  await tx('event_definitions').where({ id }).delete();
  return !released.some(({ status }) => status === 'completed');
}

export async function eventHasCompletedInstances(tx: Tx, id: string): Promise<boolean> {
  return (
    (await tx('scheduled_visits').where({ event_definition_id: id, status: 'completed' }).first('id')) !== undefined
  );
}

function columnsOf({ repeating, ...fields }: EventDefinitionFields): Record<string, unknown> {
  if (repeating === undefined) return fields;
  return { ...fields, repeat_count: repeating?.count ?? null, repeat_every_days: repeating?.every_days ?? null };
}

/** A study event instance: a scheduled visit by its name in the protocol. */
export interface EventInstanceRecord {
  id: string;
  visit_key: string;
  participant_id: string;
  event_definition_id: string | null;
  event_oid: string;
  occurrence: number;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  status: string;
  completed_at: string | null;
  schedule_version_id: string | null;
  anchor_reconciled: boolean;
  anchor_reconciled_at: string | null;
}
const INSTANCE = `v.id, v.visit_key, v.participant_id, v.event_definition_id,
  coalesce(e.event_oid, v.event_oid) as event_oid, v.event_occurrence as occurrence, v.name,
  v.target_date, v.window_open, v.window_close, z.status, v.completed_at, v.schedule_version_id, v.anchor_reconciled,
    v.anchor_reconciled_at`;

/** A participant's instances over all schedule versions; one whose definition was deleted keeps its name. */
export function listEventInstances(
  tx: Tx,
  participantId: string,
  filter: Page & { status?: string | undefined; versionId?: string | undefined },
): Promise<Listed<EventInstanceRecord>> {
  const found = tx('scheduled_visits as v')
    .leftJoin('event_definitions as e', 'e.id', 'v.event_definition_id')
    .joinRaw(`${WHERE_VISIT_IS} cross join lateral (select ${PRESENT_STATUS} as status) z`)
    .where('v.participant_id', participantId)
    .whereNotNull('v.event_occurrence')
    .modify((q) => {
      if (filter.status) q.where('z.status', filter.status);
      if (filter.versionId) q.where('v.schedule_version_id', filter.versionId);
    });
  return page(
    tx,
    found,
    INSTANCE,
    filter,
    { target_date: 'v.target_date', event_oid: 'coalesce(e.event_oid, v.event_oid)', status: 'z.status' },
    'v.id',
  );
}
