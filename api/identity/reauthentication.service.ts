import type { IncomingHttpHeaders } from 'node:http';
import { verifyPassword } from '../../db/identity/passwords.js';
import { clearProofs, proofsOf } from '../../db/identity/login-failures.queries.js';
import { secondFactor, claimTotpStep } from '../../db/identity/mfa.queries.js';
import { loginIsRecent, userSecretForUpdate } from '../../db/identity/users.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import type { Actor } from '../http/access.js';
import { Problem, problem } from '../http/errors.js';
import { countFailure } from './login-failures.js';
import { stepOf } from './totp-proof.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';
import type { Credential } from '../http/request-context.js';
import type { RequestContext } from '../http/request-context.js';

/** A repeated proof of identity: the password, or a code of the authenticator. */
export interface ReauthenticationProof {
  password?: string | undefined;
  code?: string | undefined;
  /** The login of the request: its wrong proofs are counted. */
  login?: string | undefined;
}
export type ProvedBy = 'password' | 'totp';

/** A refused proof, usually REAUTHENTICATION_FAILED. It is counted after the request's transaction was rolled back. */
class WrongProof extends Problem {
  constructor(
    readonly userId: string,
    readonly login: string,
    /** False: the login is locked, and nothing was checked. */
    readonly tried: boolean,
    { status, code, message, options } = problem('REAUTHENTICATION_FAILED'),
  ) {
    super(status, code, message, options);
  }

  /** Counts the wrong proof of its login. */
  override async afterRollback(database: Database, context: RequestContext): Promise<void> {
    if (!this.tried) return;
    const { userId, login } = this;
    await withStudyScope(database, [], async (counting) => {
      counting.audit.record({
        study_id: null,
        user_id: userId,
        action: 'reauthentication_failed',
        resource_type: 'user',
        resource_id: userId,
        request_id: context.requestId,
      });
      const proofs = await proofsOf(counting.tx, userId, login);
      await countFailure(counting, userId, proofs, context, 'reauthentication_locked');
    });
  }
}

/**
 * The proof in a request: in X-Reauthentication (six digits are a code, anything else is a password), or as `password`
 * or `code` in its body.
 */
export function proofIn(
  headers: IncomingHttpHeaders,
  body: Pick<ReauthenticationProof, 'password' | 'code'> | undefined,
  credential: Credential | undefined,
): ReauthenticationProof | undefined {
  const login = credential?.sid;
  const given = headers['x-reauthentication'];
  if (typeof given === 'string' && given !== '')
    return /^[0-9]{6}$/.test(given) ? { code: given, login } : { password: utf8(given), login };
  if (body?.code !== undefined) return { code: body.code, login };
  if (body?.password !== undefined) return { password: body.password, login };
  return undefined;
}

/** Node reads headers byte by byte; clients write UTF-8. */
function utf8(header: string): string {
  const text = Buffer.from(header, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? header : text;
}

/**
 * Checks a proof; a code is used up with the caller's transaction.
 * @returns the kind of proof; undefined without one
 * @throws 401 REAUTHENTICATION_FAILED
 */
export async function proveAgain(
  tx: Tx,
  settings: Settings,
  { id }: Pick<Actor, 'id'>,
  proof: ReauthenticationProof | undefined,
): Promise<ProvedBy | undefined> {
  if (!proof) return undefined;
  const user = await userSecretForUpdate(tx, id);
  const login = proof.login ?? id;
  const proofs = await proofsOf(tx, id, login);
  if (!user || proofs.locked) throw new WrongProof(id, login, false);
  if (proof.code === undefined) {
    if (!(await verifyPassword(user.password_hash, proof.password ?? ''))) throw new WrongProof(id, login, true);
    await clearProofs(tx, id, proofs);
    return 'password';
  }
  const factor = await secondFactor(tx, id);
  const step = factor?.verified ? stepOf(settings, id, factor, proof.code) : undefined;
  if (step === undefined) throw new WrongProof(id, login, true);
  await claimTotpStep(tx, id, step);
  await clearProofs(tx, id, proofs);
  return 'totp';
}

/**
 * Checks the caller's current password, as for a new one. Wrong ones count as proofs of the same login, so that the
 * thief of an access token can't guess it.
 * @throws 400 WRONG_PASSWORD, also while the proofs of this login are locked
 */
export async function proveCurrentPassword(
  tx: Tx,
  { id }: Pick<Actor, 'id'>,
  password: string,
  login = id,
): Promise<void> {
  const user = await userSecretForUpdate(tx, id);
  const proofs = await proofsOf(tx, id, login);
  if (user && !proofs.locked && (await verifyPassword(user.password_hash, password)))
    return clearProofs(tx, id, proofs);
  const refusal = problem('RULE_VIOLATED', {
    detail: 'current_password is wrong.',
    errors: [{ path: 'current_password', code: 'WRONG_PASSWORD', message: 'current_password is wrong' }],
  });
  throw new WrongProof(id, login, !proofs.locked, refusal);
}

/** The refusal of a request without a required proof. */
export const reauthenticationRequired = (): Problem =>
  problem('REAUTHENTICATION_REQUIRED', {
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_user_authentication"' },
  });

/**
 * Admits a caller whose login is not older than REAUTHENTICATION_MINUTES, or who proves identity again. The token of a
 * login that must set up a second factor always follows a fresh password.
 * @throws 401 REAUTHENTICATION_REQUIRED or REAUTHENTICATION_FAILED
 */
export async function requireRecentProof(
  tx: Tx,
  settings: Settings,
  {
    actor,
    credential,
    proof,
  }: { actor: Actor; credential: Credential | undefined; proof: ReauthenticationProof | undefined },
): Promise<void> {
  if (credential?.audience === 'mfa' || (await proveAgain(tx, settings, actor, proof))) return;
  if (!credential?.sid || !(await loginIsRecent(tx, credential.sid, settings.REAUTHENTICATION_MINUTES)))
    throw reauthenticationRequired();
}
