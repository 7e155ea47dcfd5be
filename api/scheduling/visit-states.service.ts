import { putOutbox } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import type { ParticipantRecord } from '../../db/participants/participants.queries.js';
import { mayReopen } from '../../db/scheduling/visit-statuses.queries.js';
import type { VisitRecord } from '../../db/scheduling/visits.queries.js';
import { updateVisit } from '../../db/scheduling/visits.queries.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { assertNotWithdrawn, announceSourcesChanged } from '../participants/participants.service.js';
import type { RequestScope } from '../http/state.js';
import { toDoAgain } from './visit-to-do-again.js';
import { getVisitOrThrow, keptReason, lockVisitForShare } from './visits.service.js';
import type { Tx } from '../../db/client/database.js';

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
    status_reason: keptReason(reason),
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
 * state; a session that completed it stays completed. If the schedule moved meanwhile, the visit gets its present
 * dates.
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
  const again = await toDoAgain(tx, before);
  const { status } = again;
  await updateVisit(tx, id, { ...again, cancelled_by_hand: false, status_reason: keptReason(reason) });
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
