import { randomUUID } from 'node:crypto';
import { offerSignature, requestOfStudy } from '../../db/anchor/override-requests.queries.js';
import type { AuditTrail } from '../../db/audit/audit.js';
import { approverRoles } from '../../workflows/domain/anchor/approvers.js';
import { isVisible } from '../../workflows/domain/util/visible.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { GivenOut } from './message-signing.js';
import { recordingRefusals } from './refused-decisions.js';
import type { ReauthenticationProof } from '../identity/reauthentication.service.js';
import { signatureOf } from '../participants/signatures.service.js';
import { currentPolicy } from '../studies/policy.service.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

export interface DecisionRequest {
  decision: 'approve' | 'deny';
  reason?: string | null | undefined;
  preview_hash?: string | undefined;
  /** The meaning of the approver's signature. */
  meaning?: string | undefined;
  /** Proves identity again, if the study requires it. */
  proof?: ReauthenticationProof | undefined;
}

/** As `authorizeDecision`; each refusal is a record of the study. */
export function authorizeOrRecord(...input: Parameters<typeof authorizeDecision>) {
  const [, { actor }, studyId, requestId] = input;
  return recordingRefusals({ studyId, requestId, userId: actor.id }, () => authorizeDecision(...input));
}

/**
 * Gives an approver an authorization to send a decision as a signal, with any Temporal client. The workflow checks
 * everything again when it receives the signal; what it would refuse now is refused here.
 * @throws 404; 403 not an approver, or the requester; 409 no longer pending; 400 a denial without a reason; 401 the
 * study requires password or code
 */
async function authorizeDecision(
  services: Dependencies,
  { tx, audit, actor, context }: { tx: Tx; audit: AuditTrail; actor: Actor; context: RequestContext },
  studyId: string,
  requestId: string,
  { decision, reason, preview_hash, meaning, proof }: DecisionRequest,
): Promise<GivenOut & { approver_user_id: string }> {
  const request = await requestOfStudy(tx, studyId, requestId);
  if (!request) throw problem('NOT_FOUND', { detail: 'There is no such override request in this study.' });
  if (request.requested_by_id === actor.id)
    throw problem('SELF_APPROVAL', { detail: 'Who asked for an override does not decide it.' });
  if (!approverRoles(await currentPolicy(tx, studyId)).includes(actor.role))
    throw problem('FORBIDDEN', { detail: 'The policy does not let this user decide overrides.' });
  if (request.status !== 'pending') throw problem('NOT_PENDING', { detail: `The request is ${request.status}.` });
  if (decision === 'deny' && !isVisible(reason ?? ''))
    throw problem('REASON_REQUIRED', {
      detail: 'A denial needs a reason.',
      errors: [{ path: 'reason', code: 'REASON_REQUIRED', message: 'reason must not be empty' }],
    });
  const { participant_id } = request;
  const signature = await signatureOf(
    tx,
    studyId,
    actor,
    { settings: services.settings, proof, meaning },
    decision === 'approve' ? 'approval' : 'rejection',
  );
  const jti = randomUUID();
  await offerSignature(tx, { requestId, names: [actor.id, jti] }, { ...signature, decision });
  const message = { request_id: requestId, decision, reason: reason ?? null, preview_hash: preview_hash ?? null };
  const given = await services.signing.givenOut({ participant_id, study_id: studyId }, 'decide_override', message, {
    userId: actor.id,
    jti,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'approval_authorized',
    resource_type: 'participant',
    resource_id: participant_id,
    metadata: { override_request_id: requestId, decision, expires_at: given.expires_at },
  });
  return { ...given, approver_user_id: actor.id };
}
