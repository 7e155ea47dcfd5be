import { putOutbox } from '../../db/outbox/outbox.js';
import {
  deleteEventDefinition,
  eventDefinitionById,
  eventHasCompletedInstances,
  insertEventDefinition,
  updateEventDefinition,
} from '../../db/scheduling/event-definitions.queries.js';
import type {
  EventDefinitionFields,
  EventDefinitionRecord,
  Repeating,
} from '../../db/scheduling/event-definitions.queries.js';
import { invalid, problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import type { RequestScope } from '../http/state.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { WithEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { requireBattery, withPresentEvent } from './windows.service.js';
import type { Tx } from '../../db/client/database.js';

const unique = { event_definitions_study_id_event_oid_key: 'EVENT_OID_TAKEN' } as const;

/**
 * @param changeId the id of the change, for requesting its progress
 * @throws 409 EVENT_OID_TAKEN, 400 UNKNOWN_BATTERY
 */
export async function createEventDefinition(
  change: RequestScope,
  studyId: string,
  input: EventDefinitionFields,
  changeId?: string,
): Promise<EventDefinitionRecord> {
  const { tx } = change;
  await requireBattery(tx, input.battery_id, studyId);
  const values = await withPresentEvent(tx, studyId, input);
  const id = await mapConstraintErrors(unique, () => insertEventDefinition(tx, studyId, values));
  const made = await getEventDefinitionOrThrow(tx, id);
  await noteChange(change, made, 'event_definition_created', { changeId, more: { target_day: made.target_day } });
  return made;
}

/** A change of an event: of `repeating` only what is given changes. */
type EventDefinitionChange = Omit<EventDefinitionFields, 'repeating'> & { repeating?: Partial<Repeating> | null };

/** @throws 404, 409 EVENT_OID_TAKEN or STALE, 400 UNKNOWN_BATTERY, 422 half of a new `repeating` */
export async function changeEventDefinition(
  change: RequestScope,
  id: string,
  { repeating, ...given }: EventDefinitionChange,
  assertIfMatch: (record: Record<string, unknown>) => void,
  changeId?: string,
): Promise<WithEarlierOverrides<EventDefinitionRecord>> {
  const { tx } = change;
  const before = await getEventDefinitionOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  await requireBattery(tx, given.battery_id, before.study_id);
  const whole = { ...given, ...(repeating !== undefined && { repeating: merged(before.repeating, repeating) }) };
  const input = await withPresentEvent(tx, before.study_id, whole);
  const fields = changedFields({ ...before }, input);
  if (fields.length === 0) return before;
  await mapConstraintErrors(unique, () => updateEventDefinition(tx, id, input));
  const kind = fields.includes('is_baseline') ? 'baseline' : 'events';
  const more = { fields, ...beforeAndAfter({ ...before }, input, fields, fields) };
  await noteChange(change, before, 'event_definition_changed', { changeId, more, kind });
  return withEarlierOverrides(tx, before.study_id, await getEventDefinitionOrThrow(tx, id));
}

/** @throws 422 REQUIRED for what neither the change nor the event has */
function merged(before: Repeating | null, change: Partial<Repeating> | null): Repeating | null {
  if (change === null) return null;
  const { count, every_days } = { ...before, ...change };
  if (count === undefined) throw invalid('repeating.count', 'REQUIRED', 'is required');
  if (every_days === undefined) throw invalid('repeating.every_days', 'REQUIRED', 'is required');
  return { count, every_days };
}

/** Deletes an event from the protocol. @throws 404, 409 EVENT_IN_USE once an instance of it was completed, STALE */
export async function removeEventDefinition(
  change: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
  changeId?: string,
): Promise<void> {
  const { tx } = change;
  const before = await getEventDefinitionOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  if ((await eventHasCompletedInstances(tx, id)) || !(await deleteEventDefinition(tx, id)))
    throw problem('EVENT_IN_USE');
  await noteChange(change, before, 'event_definition_deleted', { changeId });
}

export async function getEventDefinitionOrThrow(tx: Tx, id: string, lock = false): Promise<EventDefinitionRecord> {
  const event = await eventDefinitionById(tx, id, lock);
  if (!event) throw problem('NOT_FOUND', { detail: 'There is no such event definition.' });
  return event;
}

/**
 * Records the change; every participant's schedule is checked again, and unchanged ones get no new version; `baseline`
 * also re-evaluates the anchors.
 */
async function noteChange(
  { tx, audit, actor, context }: RequestScope,
  event: EventDefinitionRecord,
  action: string,
  {
    changeId,
    more = {},
    kind = 'events',
  }: { changeId: string | undefined; more?: Record<string, unknown>; kind?: 'events' | 'baseline' },
): Promise<void> {
  const { id, study_id, event_oid } = event;
  audit.record({
    ...auditActor(actor, context),
    study_id,
    action,
    resource_type: 'event_definition',
    resource_id: id,
    metadata: { event_oid, ...more },
  });
  await putOutbox(tx, [
    {
      topic: 'study-changed',
      studyId: study_id,
      subject: study_id,
      payload: { kind, actor_user_id: actor.id, ...(changeId && { change_id: changeId }) },
    },
  ]);
}
