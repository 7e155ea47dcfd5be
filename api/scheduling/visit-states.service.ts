import { visitKey } from '../../db/audit/hashing.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import type { ParticipantRecord } from '../../db/participants/participants.queries.js';
import { readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import { mayReopen, statusToday } from '../../db/scheduling/visit-statuses.queries.js';
import type { VisitRecord } from '../../db/scheduling/visits.queries.js';
import { updateVisit } from '../../db/scheduling/visits.queries.js';
import { plannedVisit } from '../../workflows/domain/anchor/regeneration.js';
import { contentByHand, daysByHand } from '../../workflows/domain/scheduling/schedule.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { assertNotWithdrawn, announceSourcesChanged } from '../participants/participants.service.js';
import type { RequestScope } from '../http/state.js';
import { getVisitOrThrow, lockVisitForShare } from './visits.service.js';
import type { Tx } from '../../db/client/database.js';

const REASON_WIDTH = 200;

/**
 * Cancels an open visit; a cancelled one is returned unchanged. It stays cancelled in later schedules. @throws 404, 409
 * PARTICIPANT_WITHDRAWN or VISIT_CLOSED
 */
export async function cancelVisit(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  reason: string,
): Promise<VisitRecord> {
  const { visit: before, participant } = await lockedVisit(tx, id);
  if (before.status === 'cancelled') return before;
  assertNotWithdrawn(participant);
  if (before.status === 'completed' || before.status === 'superseded')
    throw problem('VISIT_CLOSED', { detail: `The visit is ${before.status} and cannot be cancelled.` });
  await updateVisit(tx, id, {
    status: 'cancelled',
    status_reason: reason.slice(0, REASON_WIDTH),
    cancelled_by_hand: true,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_cancelled',
    resource_type: 'visit',
    resource_id: id,
    metadata: { participant_id: before.participant_id, reason, status_before: before.status },
  });
  return getVisitOrThrow(tx, id);
}

/**
 * Reverses a cancellation, a completion or a miss: the visit gets its status by date. The audit log has its former
 * state; a session that completed it stays completed. A visit that was cancelled while the schedule moved gets the
 * schedule's present dates.
 * @throws 404, 409 PARTICIPANT_WITHDRAWN, VISIT_CLOSED if another row replaces it, or if it belongs to an earlier
 * schedule
 */
export async function reopenVisit(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  reason: string,
): Promise<VisitRecord> {
  const { visit: before, participant } = await lockedVisit(tx, id);
  if (before.status === 'scheduled' || before.status === 'open') return before;
  assertNotWithdrawn(participant);
  if (before.status === 'superseded' || !(await mayReopen(tx, id)))
    throw problem('VISIT_CLOSED', { detail: 'The visit was replaced by a later schedule and cannot be reopened.' });
  const planned =
    before.status === 'cancelled' && before.schedule_version_id !== null ? await asPlanned(tx, before) : {};
  const status = await statusToday(tx, { ...before, ...planned });
  await updateVisit(tx, id, {
    ...planned,
    status,
    cancelled_by_hand: false,
    status_reason: reason.slice(0, REASON_WIDTH),
    completed_at: null,
    session_id: null,
    data_sync_status: null,
    synced_at: null,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_reopened',
    resource_type: 'visit',
    resource_id: id,
    metadata: {
      participant_id: before.participant_id,
      reason,
      status_before: before.status,
      status,
      completed_at_before: before.completed_at,
      session_id_before: before.session_id,
    },
  });
  if (before.is_baseline && before.status === 'completed')
    await putOutbox(tx, [
      announceSourcesChanged({ id: before.participant_id, study_id: before.study_id }, actor, context),
    ]);
  return getVisitOrThrow(tx, id);
}

/**
 * The visit, with its participant's schedule locked: the maker of the next one sees all of a change here, or nothing.
 */
async function lockedVisit(tx: Tx, id: string): Promise<{ visit: VisitRecord; participant: ParticipantRecord }> {
  await lockAnchors(tx, [(await getVisitOrThrow(tx, id)).participant_id]);
  return lockVisitForShare(tx, id);
}

/** The present dates of a visit in its participant's schedule; empty if it is no longer planned. */
async function asPlanned(tx: Tx, visit: VisitRecord): Promise<Partial<VisitRecord>> {
  const inputs = (await readScheduleInputs(tx, visit.study_id, [visit.participant_id])).get(visit.participant_id)!;
  const planned = plannedVisit(inputs, (identity) => visitKey(visit.participant_id, identity), visit.visit_key);
  if (!planned) return {};
  const { name, battery_id, datacapture_event, is_baseline, target_date, window_open, window_close } = planned;
  const asIs = {
    name,
    battery_id,
    datacapture_event,
    is_baseline,
    target_date,
    window_open,
    window_close,
    moved_from: null,
    changed_from: null,
  };
  return { ...asIs, ...daysByHand(visit, planned), ...contentByHand(visit, planned) };
}
