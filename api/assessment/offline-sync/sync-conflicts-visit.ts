import { putOutbox } from '../../../db/outbox/outbox.js';
import { completedSessionOf, retellVisit, visitToldBy } from '../../../db/assessment/offline-conflicts.queries.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { completeVisits, liveVisit } from '../../../db/assessment/sessions-visits.queries.js';
import { updateVisit } from '../../../db/scheduling/visits.queries.js';
import { auditActor } from '../../http/audit-actor.js';
import { lockForShare, announceSourcesChanged } from '../../participants/participants.service.js';
import { toDoAgain } from '../../scheduling/visit-to-do-again.js';
import { getVisitOrThrow } from '../../scheduling/visits.service.js';
import type { RequestScope } from '../../http/state.js';
import { countedEnd, enteredFor } from '../../../workflows/domain/assessment/times.js';
import { timesOf } from './references.js';

type Told = Pick<SessionRow, 'id' | 'study_id' | 'participant_id'>;

/** The times of a session as its device tells them, when it arrived, and when its participant was entered. */
export interface Ending {
  started_at: string;
  completed_at: string | null;
  arrived_at: string;
  entered_at: string;
}

/** When a visit is done by a session: at its end, unless no clock can have shown that. */
function endAt(visit: { window_open: string }, { started_at, completed_at, arrived_at, entered_at }: Ending): string {
  const counted = countedEnd(timesOf({ started_at, completed_at }), {
    now: Date.parse(arrived_at),
    entered: enteredFor(Date.parse(entered_at), visit),
  });
  return completed_at !== null && counted === Date.parse(completed_at) ? completed_at : new Date(counted).toISOString();
}

/**
 * Completes a session's visit, as without a conflict. A visit that something else completed stays; one that this
 * session completed before gets the session's new completion time.
 */
export async function tellVisit(change: RequestScope, session: Told, visitId: string, ending: Ending): Promise<void> {
  const { tx } = change;
  const live = await liveVisit(tx, visitId);
  if (!live || (live.status === 'completed' && live.session_id !== session.id)) return;
  const completedAt = endAt(live, ending);
  if (live.status === 'completed') await retellVisit(tx, live.id, session.id, completedAt);
  else await completeVisits(tx, [{ id: live.id, session_id: session.id, completed_at: completedAt }]);
  await completed(change, session, live, completedAt);
}

/** Makes this session the one that completed the visit. Returns the previous completion, or undefined. */
export async function retell(
  change: RequestScope,
  session: Told,
  visitId: string,
  ending: Ending,
): Promise<{ session_id: string | null; completed_at: string } | undefined> {
  const live = await liveVisit(change.tx, visitId);
  if (live?.status !== 'completed') {
    await tellVisit(change, session, visitId, ending);
    return undefined;
  }
  const completedAt = endAt(live, ending);
  const before = await retellVisit(change.tx, live.id, session.id, completedAt);
  await completed(change, session, live, completedAt);
  return before;
}

/**
 * The session does not count (any more): the visit that it completed is now completed by another completed session of
 * it, or is open again, with the status by date. A withdrawn participant's schedule is frozen: there it stays.
 */
export async function takeBack(change: RequestScope, session: Told): Promise<void> {
  const { tx, audit, actor, context } = change;
  const visit = await visitToldBy(tx, session);
  if (!visit) return;
  const participant = await lockForShare(tx, session.participant_id);
  const other = await completedSessionOf(tx, visit.id, session.id);
  if (other) {
    const end = endAt(visit, { ...other, arrived_at: other.created_at, entered_at: participant.created_at });
    await retellVisit(tx, visit.id, other.id, end);
    return completed(change, { ...session, id: other.id }, { ...visit, status: 'completed' }, end);
  }
  if (participant.status === 'withdrawn') return;
  const again = await toDoAgain(tx, await getVisitOrThrow(tx, visit.id));
  const { status } = again;
  await updateVisit(tx, visit.id, again);
  audit.record({
    ...auditActor(actor, context),
    study_id: session.study_id,
    action: 'visit_reopened',
    resource_type: 'visit',
    resource_id: visit.id,
    metadata: {
      participant_id: session.participant_id,
      reason: 'sync_conflict_resolved',
      status_before: 'completed',
      status,
      completed_at_before: visit.completed_at,
      session_id_before: session.id,
    },
  });
  if (visit.is_baseline)
    await putOutbox(tx, [
      announceSourcesChanged({ id: session.participant_id, study_id: session.study_id }, actor, context),
    ]);
}

async function completed(
  { tx, audit, actor, context }: RequestScope,
  session: Told,
  visit: { id: string; status: string; is_baseline: boolean },
  completedAt: string,
): Promise<void> {
  audit.record({
    ...auditActor(actor, context),
    study_id: session.study_id,
    action: 'visit_completed',
    resource_type: 'visit',
    resource_id: visit.id,
    metadata: {
      participant_id: session.participant_id,
      session_id: session.id,
      completed_at: completedAt,
      status_before: visit.status,
    },
  });
  // The completion of the baseline is a prerequisite of the anchor and may be its source.
  if (visit.is_baseline)
    await putOutbox(tx, [
      announceSourcesChanged({ id: session.participant_id, study_id: session.study_id }, actor, context),
    ]);
  await requestPushes(tx, [session.id]);
}
