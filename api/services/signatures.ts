import { nowIso } from '../../db/clock.js';
import type { Tx } from '../../db/knex.js';
import type { Signature } from '../../db/models/records.js';
import { signaturesAskAgain } from '../../db/queries/studies.js';
import type { Settings } from '../../settings.js';
import type { Actor } from '../access.js';
import { Type } from '../schemas/common.js';
import type { RequestContext } from '../route.js';
import { check } from '../validation.js';
import { proveAgain, reauthenticationRequired } from './reauthentication.js';
import type { Proof } from './reauthentication.js';

const InStudy = Type.Object({
  config: Type.Object({
    signatures: Type.Object({ reauthenticate: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
  }),
});

/** Holds a study's `config.signatures` against what there is. @throws 422 naming the path */
export function acceptSignatures(config: Record<string, unknown> | undefined): void {
  const signatures = config?.signatures;
  if (signatures !== undefined) check(InStudy, { config: { signatures } }, 'body');
}

/** What a signer gives beside the record that is signed. */
export interface Signing {
  settings: Settings;
  proof: Proof | undefined;
  meaning: string | undefined;
}

/**
 * The signature of the caller. Where the study asks again (`config.signatures.reauthenticate`, default true in
 * production) the request must prove identity; elsewhere a proof that is there is checked and kept too.
 * @throws 401 REAUTHENTICATION_REQUIRED or REAUTHENTICATION_FAILED
 */
export async function signatureOf(
  tx: Tx,
  studyId: string,
  actor: Actor,
  { settings, proof, meaning }: Signing,
  usual: string,
  context: RequestContext,
): Promise<Signature> {
  const proved = await proveAgain(tx, settings, actor, proof, context);
  if (!proved && (await signaturesAskAgain(tx, studyId, settings.production))) throw reauthenticationRequired();
  return { meaning: meaning ?? usual, name: actor.name, signed_at: nowIso(), proved_by: proved ?? 'session' };
}
