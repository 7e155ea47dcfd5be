import { putOutbox } from '../../../db/outbox/outbox.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import { completeSession } from '../../../db/assessment/sessions.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { completeVisits, liveVisit } from '../../../db/assessment/sessions-visits.queries.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import { problem } from '../../http/errors.js';
import { refuseErased, sessionOpener } from './sessions-opened.js';
import type { RequestContext } from '../../http/request-context.js';

export interface Ended {
  session_id: string;
  status: 'completed';
  completed_at: string;
  visit_id: string | null;
}

/**
 * Ends a session and completes its visit, in one transaction; it is idempotent. A visit that a re-anchoring has moved
 * since is completed in its present row; a closed or superseded one stays as it is. The push of its results starts with
 * the commit.
 * @throws 409 SESSION_ENDED for an abandoned session, PARTICIPANT_ERASED
 */
export async function endAssessmentSession(
  { tx, audit }: WriteTransaction,
  session: SessionRow,
  context: RequestContext,
): Promise<Ended> {
  if (session.status === 'completed')
    return {
      session_id: session.id,
      status: 'completed',
      completed_at: session.completed_at!,
      visit_id: session.visit_id,
    };
  refuseErased(session);
  if (session.status !== 'active') throw problem('SESSION_ENDED', { detail: `The session is ${session.status}.` });
  const live = session.visit_id === null ? undefined : await liveVisit(tx, session.visit_id);
  const visitId = live?.id ?? session.visit_id;
  const completed_at = await completeSession(tx, session.id, visitId);
  const record = { user_id: null, request_id: context.requestId, study_id: session.study_id };
  audit.record({
    ...record,
    action: 'session_completed',
    resource_type: 'session',
    resource_id: session.id,
    metadata: { participant_id: session.participant_id, visit_id: visitId, ...sessionOpener(session, context) },
  });
  if (live && (await completeVisits(tx, [{ id: live.id, session_id: session.id, completed_at }])).length > 0) {
    audit.record({
      ...record,
      action: 'visit_completed',
      resource_type: 'visit',
      resource_id: live.id,
      metadata: {
        participant_id: session.participant_id,
        session_id: session.id,
        completed_at,
        status_before: live.status,
      },
    });
    // The completion of the baseline is a prerequisite of the anchor and may be its source.
    if (live.is_baseline)
      await putOutbox(tx, [
        {
          topic: 'sources-changed',
          studyId: session.study_id,
          subject: session.participant_id,
          payload: { actor_user_id: null, request_id: context.requestId },
        },
      ]);
  }
  await requestPushes(tx, [session.id]);
  return { session_id: session.id, status: 'completed', completed_at, visit_id: visitId };
}
