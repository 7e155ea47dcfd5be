import { hashOf } from '../../../db/audit/hashing.js';
import { putOutbox } from '../../../db/outbox/outbox.js';
import { insertConflicts } from '../../../db/assessment/offline.queries.js';
import { metCompletedVisit } from '../../../db/assessment/offline-conflicts.queries.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import { completeSession } from '../../../db/assessment/sessions.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { completeVisits, liveVisit } from '../../../db/assessment/sessions-visits.queries.js';
import type { LiveVisit } from '../../../db/assessment/sessions-visits.queries.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import type { Tx } from '../../../db/client/database.js';
import { sessionContent } from '../../../workflows/domain/assessment/sync.js';
import { problem } from '../../http/errors.js';
import { refuseErased, sessionOpener } from './sessions-opened.js';
import type { RequestContext } from '../../http/request-context.js';

export interface Ended {
  session_id: string;
  status: 'completed';
  completed_at: string;
  visit_id: string | null;
  warnings?: { code: string; message: string }[];
}

const VISIT_COMPLETED = {
  code: 'VISIT_COMPLETED',
  message: 'Another session had completed the visit: this one is kept beside it, as a conflict for staff to resolve.',
};
const warned = (ended: Omit<Ended, 'warnings'>, conflict: boolean): Ended =>
  conflict ? { ...ended, warnings: [VISIT_COMPLETED] } : ended;

/**
 * Ends a session and completes its visit, in one transaction; it is idempotent. A visit that a re-anchoring has moved
 * since is completed in its present row; a closed or superseded one stays as it is. One that another session has
 * completed since is that one's: this session is stored beside it, a conflict as of one that was off line. The push of
 * its results starts with the commit.
 * @throws 409 SESSION_ENDED for an abandoned session, PARTICIPANT_ERASED
 */
export async function endAssessmentSession(
  { tx, audit }: WriteTransaction,
  session: SessionRow,
  context: RequestContext,
): Promise<Ended> {
  if (session.status === 'completed')
    return warned(
      {
        session_id: session.id,
        status: 'completed',
        completed_at: session.completed_at!,
        visit_id: session.visit_id,
      },
      await metCompletedVisit(tx, session),
    );
  refuseErased(session);
  if (session.status !== 'active') throw problem('SESSION_ENDED', { detail: `The session is ${session.status}.` });
  const live = session.visit_id === null ? undefined : await liveVisit(tx, session.visit_id);
  const visitId = live?.id ?? session.visit_id;
  const completed_at = await completeSession(tx, session.id, visitId);
  const conflict = live !== undefined && isOfAnother(live, session);
  if (conflict) await keepBeside(tx, { ...session, status: 'completed', completed_at, visit_id: live.id });
  const record = { user_id: null, request_id: context.requestId, study_id: session.study_id };
  audit.record({
    ...record,
    action: 'session_completed',
    resource_type: 'session',
    resource_id: session.id,
    metadata: {
      participant_id: session.participant_id,
      visit_id: visitId,
      ...(conflict && { conflict_type: 'visit_already_completed' }),
      ...sessionOpener(session, context),
    },
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
  return warned({ session_id: session.id, status: 'completed', completed_at, visit_id: visitId }, conflict);
}

/** Whether another session has completed the visit. One that staff have completed by hand has this one's results. */
const isOfAnother = (visit: LiveVisit, session: SessionRow): boolean =>
  visit.status === 'completed' && visit.session_id !== null && visit.session_id !== session.id;

/** Both sessions count until staff say which one the visit is of. */
async function keepBeside(tx: Tx, session: SessionRow): Promise<void> {
  const content = sessionContent({ ...session, local_id: session.id });
  await insertConflicts(tx, [
    {
      study_id: session.study_id,
      participant_id: session.participant_id,
      kind: 'session',
      conflict_type: 'visit_already_completed',
      resolution: 'both_kept',
      local_id: session.id,
      session_id: session.id,
      task: null,
      message: 'the visit was completed by another session',
      local_content: JSON.stringify(content),
      server_content: { visit_id: session.visit_id },
      content_hash: hashOf(content),
    },
  ]);
}
