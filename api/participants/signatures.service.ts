import { nowIso } from '../../db/client/clock.js';
import type { Signature } from '../../db/models/records.js';
import {
  isSigned,
  offerSignature,
  requestOfStudy,
  withdrawSignature,
} from '../../db/anchor/override-requests.queries.js';
import type { ApproverDecision } from '../../db/anchor/override-requests.queries.js';
import { signaturesAskAgain } from '../../db/studies/studies.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import { approverRoles } from '../../workflows/domain/anchor/approvers.js';
import type { Actor } from '../http/access.js';
import type { Dependencies } from '../dependencies.js';
import { proveAgain, reauthenticationRequired } from '../identity/reauthentication.service.js';
import type { ReauthenticationProof } from '../identity/reauthentication.service.js';
import { currentPolicy } from '../studies/policy.service.js';
import type { Tx } from '../../db/client/database.js';

/** A signer's input besides the signed record. */
export interface SignatureRequest {
  settings: Settings;
  proof: ReauthenticationProof | undefined;
  meaning: string | undefined;
}

/**
 * The caller's signature. If the study requires it (`config.signatures.reauthenticate`, default true in production) the
 * request must prove identity; otherwise an optional proof is also checked and stored.
 * @throws 401 REAUTHENTICATION_REQUIRED or REAUTHENTICATION_FAILED
 */
export async function signatureOf(
  tx: Tx,
  studyId: string,
  actor: Actor,
  { settings, proof, meaning }: SignatureRequest,
  usual: string,
): Promise<Signature> {
  const proved = await proveAgain(tx, settings, actor, proof);
  if (!proved && (await signaturesAskAgain(tx, studyId, settings.production))) throw reauthenticationRequired();
  return { meaning: meaning ?? usual, name: actor.name, signed_at: nowIso(), proved_by: proved ?? 'session' };
}

/** An approver's decision on one override request, signed for the message with one of these authorizations. */
export interface SignedDecision {
  services: Dependencies;
  actor: Actor;
  studyId: string;
  participantId: string;
  requestId: string;
  /** The first is the same for a repeated request. */
  authorizationIds: readonly string[];
}

/**
 * Signs a decision on an override. The signature is stored with the request until a message carries out the decision.
 * A repeated request was proved before, unless it was refused: its code is used up. A request that is not the signer's
 * to decide is not signed, and asks for no proof: the participant's workflow refuses that decision, and records it.
 * @returns whether it is signed
 * @throws 401 as `signatureOf`
 */
export async function signDecision(
  { services, actor, studyId, participantId, requestId, authorizationIds }: SignedDecision,
  decision: ApproverDecision,
  input: Omit<SignatureRequest, 'settings'>,
): Promise<boolean> {
  return withStudyScope(services.database, studyId, async ({ tx }) => {
    if (await isSigned(tx, requestId, authorizationIds[0]!)) return true;
    if (!(await isToDecide(tx, { actor, studyId, participantId, requestId }))) return false;
    const signing = { ...input, settings: services.settings };
    const usual = decision === 'approve' ? 'approval' : 'rejection';
    const signature = await signatureOf(tx, studyId, actor, signing, usual);
    await offerSignature(tx, { requestId, names: authorizationIds }, { ...signature, decision });
    return true;
  });
}

/** Whether it is this participant's request, of somebody else, and the policy lets this user decide requests. */
async function isToDecide(
  tx: Tx,
  {
    actor,
    studyId,
    participantId,
    requestId,
  }: Pick<SignedDecision, 'actor' | 'studyId' | 'participantId' | 'requestId'>,
): Promise<boolean> {
  const request = await requestOfStudy(tx, studyId, requestId);
  return (
    request !== undefined &&
    request.participant_id === participantId.toLowerCase() &&
    request.requested_by_id !== actor.id &&
    approverRoles(await currentPolicy(tx, studyId)).includes(actor.role)
  );
}

/** Removes the signature of a refused decision. */
export const revokeDecisionSignature = ({
  services,
  studyId,
  requestId,
  authorizationIds,
}: Omit<SignedDecision, 'actor' | 'participantId'>): Promise<void> =>
  withStudyScope(services.database, studyId, ({ tx }) => withdrawSignature(tx, requestId, authorizationIds));
