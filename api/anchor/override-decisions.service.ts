import { decideOverride } from '../../workflows/contract.js';
import type { AnchorOutcome, OverrideDecision } from '../../workflows/contract.js';
import type { Actor } from '../http/access.js';
import { Problem } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';
import type { ReauthenticationProof } from '../identity/reauthentication.service.js';
import { revokeDecisionSignature, signDecision } from '../participants/signatures.service.js';
import type { Dependencies } from '../dependencies.js';
import { commandSender, keyInForce, updateAnchor, updateIdsOf } from './anchor-updates.service.js';
import { authorizationIdOf } from './message-signing.js';
import { recordingRefusals } from './refused-decisions.js';

export interface DecisionOnOverride {
  studyId: string;
  participantId: string;
  requestId: string;
  decision: 'approve' | 'deny';
  reason: string | null;
  /** Hash of the preview that the approver saw. */
  previewHash: string | null;
  proof: ReauthenticationProof | undefined;
  meaning?: string | undefined;
  /** It is decided in the console; otherwise by a request of the API. */
  via?: 'page';
}

/**
 * Decides an override request: signs the decision and sends it to the participant's workflow, which checks all of it.
 * @param requestKey the same for a repeated request
 * @throws 401 the study requires password or code; 403 not an approver, or the requester; 404; 409 NOT_PENDING or
 * PREVIEW_STALE with the new preview; 400 a denial without a reason; 503
 */
export async function decideOnOverride(
  services: Dependencies,
  { actor, context, requestKey: given }: { actor: Actor; context: RequestContext; requestKey: string },
  { studyId, participantId, requestId, decision, reason, previewHash, proof, meaning, via }: DecisionOnOverride,
): Promise<AnchorOutcome> {
  const sender = commandSender(actor, context);
  const message: OverrideDecision = {
    request_id: requestId,
    decision,
    approver_user_id: actor.id,
    reason,
    preview_hash: previewHash,
    http_request_id: sender.request_id ?? null,
    ip_address: sender.ip_address ?? null,
    user_agent: sender.user_agent ?? null,
  };
  const requestKey = await keyInForce(services, { studyId, participantId }, given);
  const updateIds = updateIdsOf(requestKey, sender.request_id?.slice(0, 36) ?? null);
  const authorizationIds = Object.values(updateIds).map(authorizationIdOf);
  const deciding = { services, actor, studyId, participantId, requestId, authorizationIds };
  const about = { studyId, requestId, userId: actor.id, via };
  const isSigned = await recordingRefusals(about, () => signDecision(deciding, decision, { proof, meaning }));
  return recordingRefusals(about, () =>
    updateAnchor(
      services,
      {
        studyId,
        participantId,
        updateId: requestKey,
        authorizationId: authorizationIdOf,
        evenWithdrawn: true,
        ...(via && { via }),
      },
      decideOverride,
      message,
    ),
  ).catch(async (fault: unknown) => {
    // A decision without an answer in time may still be executed.
    if (isSigned && fault instanceof Problem && fault.status < 500) await revokeDecisionSignature(deciding);
    throw fault;
  });
}
