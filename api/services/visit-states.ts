import { putOutbox } from '../../db/outbox.js';
import { mayReopen, statusToday } from '../../db/queries/visit-statuses.js';
import type { VisitRecord } from '../../db/queries/visits.js';
import { updateVisit } from '../../db/queries/visits.js';
import { problem } from '../errors.js';
import { by } from '../record.js';
import { sourcesChanged } from './participants.js';
import type { Change } from './studies.js';
import { existingVisit } from './visits.js';

const REASON_WIDTH = 200;

/** Cancels a visit that is not done; one that is cancelled is answered as it is. @throws 404, 409 VISIT_CLOSED */
export async function cancelVisit({ tx, audit, actor, context }: Change, id: string, reason: string): Promise<VisitRecord> {
  const before = await existingVisit(tx, id, true);
  if (before.status === 'cancelled') return before;
  if (before.status === 'completed' || before.status === 'superseded') throw problem('VISIT_CLOSED', { detail: `The visit is ${before.status} and cannot be cancelled.` });
  await updateVisit(tx, id, { status: 'cancelled', status_reason: reason.slice(0, REASON_WIDTH) });
  audit.record({ ...by(actor, context), study_id: before.study_id, action: 'visit_cancelled', resource_type: 'visit', resource_id: id, metadata: { participant_id: before.participant_id, reason, status_before: before.status } });
  return existingVisit(tx, id);
}

/**
 * Takes a cancellation, a completion or a miss back: the visit is where the calendar has it now. What it was stands in
 * the audit log; a session that had completed it stays a completed session.
 * @throws 404, 409 VISIT_CLOSED for one that another row stands for, or that belongs to a schedule of before
 */
export async function reopenVisit({ tx, audit, actor, context }: Change, id: string, reason: string): Promise<VisitRecord> {
  const before = await existingVisit(tx, id, true);
  if (before.status === 'scheduled' || before.status === 'open') return before;
  if (before.status === 'superseded' || !(await mayReopen(tx, id))) throw problem('VISIT_CLOSED', { detail: 'The visit was replaced by a later schedule and cannot be reopened.' });
  const status = await statusToday(tx, before);
  await updateVisit(tx, id, { status, status_reason: reason.slice(0, REASON_WIDTH), completed_at: null, session_id: null, data_sync_status: null, synced_at: null });
  audit.record({
    ...by(actor, context), study_id: before.study_id, action: 'visit_reopened', resource_type: 'visit', resource_id: id,
    metadata: { participant_id: before.participant_id, reason, status_before: before.status, status, completed_at_before: before.completed_at, session_id_before: before.session_id },
  });
  if (before.is_baseline && before.status === 'completed') await putOutbox(tx, [sourcesChanged({ id: before.participant_id, study_id: before.study_id }, actor, context)]);
  return existingVisit(tx, id);
}
