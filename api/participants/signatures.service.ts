import { nowIso } from '../../db/client/clock.js';
import type { Signature } from '../../db/models/records.js';
import { isSigned, offerSignature, withdrawSignature } from '../../db/anchor/override-requests.queries.js';
import type { ApproverDecision } from '../../db/anchor/override-requests.queries.js';
import { signaturesAskAgain } from '../../db/studies/studies.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import type { Actor } from '../http/access.js';
import type { Dependencies } from '../dependencies.js';
import { proveAgain, reauthenticationRequired } from '../identity/reauthentication.service.js';
import type { ReauthenticationProof } from '../identity/reauthentication.service.js';
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
  requestId: string;
  /** The first is the same for a repeated request. */
  authorizationIds: readonly string[];
}

/**
 * Signs a decision on an override. The signature is stored with the request until a message carries out the decision.
 * A repeated request was proved before, unless it was refused: its code is used up.
 * @throws 401 as `signatureOf`
 */
export async function signDecision(
  { services, actor, studyId, requestId, authorizationIds }: SignedDecision,
  decision: ApproverDecision,
  input: Omit<SignatureRequest, 'settings'>,
): Promise<void> {
  await withStudyScope(services.database, studyId, async ({ tx }) => {
    if (await isSigned(tx, requestId, authorizationIds[0]!)) return;
    const signing = { ...input, settings: services.settings };
    const usual = decision === 'approve' ? 'approval' : 'rejection';
    const signature = await signatureOf(tx, studyId, actor, signing, usual);
    await offerSignature(tx, { requestId, names: authorizationIds }, { ...signature, decision });
  });
}

/** Removes the signature of a refused decision. */
export const revokeDecisionSignature = ({
  services,
  studyId,
  requestId,
  authorizationIds,
}: Omit<SignedDecision, 'actor'>): Promise<void> =>
  withStudyScope(services.database, studyId, ({ tx }) => withdrawSignature(tx, requestId, authorizationIds));
