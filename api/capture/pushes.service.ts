import { requestPushAgain, retryFailures } from '../../db/capture/push-requests.queries.js';
import { listAttempts, pushOfSession } from '../../db/capture/pushes.queries.js';
import type { Page } from '../../db/client/paging.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { getSessionOrThrow } from '../assessment/sessions/sessions.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

/** A session's push and its attempts. @throws 404 */
export async function sessionPushes(tx: Tx, sessionId: string, paging: Page) {
  const session = await getSessionOrThrow(tx, sessionId);
  return { ...(await listAttempts(tx, session.id, paging)), push: (await pushOfSession(tx, session.id)) ?? null };
}

/**
 * Pushes a session's results now: retries a failed or waiting push at once, and repeats a completed one. The attempts
 * show the result.
 * @throws 404, 409 SESSION_NOT_COMPLETED
 */
export async function pushAgain(
  { tx, audit, actor, context }: RequestScope,
  sessionId: string,
): Promise<{ status: 'started'; session_id: string }> {
  const session = await getSessionOrThrow(tx, sessionId);
  if (session.status !== 'completed')
    throw problem('SESSION_NOT_COMPLETED', {
      detail: `Only a completed session has results to push; this one is ${session.status}.`,
    });
  await requestPushAgain(tx, session);
  audit.record({
    ...auditActor(actor, context),
    study_id: session.study_id,
    action: 'push_requested',
    resource_type: 'session',
    resource_id: session.id,
    metadata: { visit_id: session.visit_id },
  });
  return { status: 'started', session_id: session.id };
}

/** Retries a study's failed pushes now, all of them or those of the named sessions. */
export async function retryPushes(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  named: readonly string[] | undefined,
) {
  const ids = named?.map((id) => id.toLowerCase());
  const session_ids = await retryFailures(tx, studyId, ids);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'pushes_requested',
    resource_type: 'study',
    resource_id: studyId,
    metadata: { sessions: session_ids.length, named: ids?.length ?? null },
  });
  const retried = new Set(session_ids);
  const skipped = [...new Set(ids)]
    .filter((id) => !retried.has(id))
    .map((session_id) => ({ session_id, reason: 'No failed push of this session is in the study.' }));
  return { status: 'started' as const, session_ids, skipped };
}
