import type { IncomingHttpHeaders } from 'node:http';
import type { Database, Tx } from '../../db/knex.js';
import { verifyPassword } from '../../db/passwords.js';
import { secondFactor, takeStep } from '../../db/queries/mfa.js';
import { loginIsRecent, userSecretForUpdate } from '../../db/queries/users.js';
import { inScope } from '../../db/transaction.js';
import type { Settings } from '../../settings.js';
import type { Actor } from '../access.js';
import { Problem, problem } from '../errors.js';
import type { Credential, RequestContext } from '../route.js';
import { countFailure, originIn } from './login-failures.js';
import { stepOf } from './totp-proof.js';

/** What proves once more who sends a request: the password, or a code of the authenticator. */
export interface Proof {
  password?: string | undefined;
  code?: string | undefined;
}
export type ProvedBy = 'password' | 'totp';

/** The refusal of a proof. It is counted once the request's own transaction is undone. */
class WrongProof extends Problem {
  constructor(
    readonly userId: string,
    /** False: the account is locked here, and nothing was tried. */
    readonly tried: boolean,
  ) {
    const { status, code, message } = problem('REAUTHENTICATION_FAILED');
    super(status, code, message);
  }
}

/**
 * The proof that a request carries: in X-Reauthentication (six digits are a code, all else is a password), or as
 * `password` or `code` in its body.
 */
export function proofIn(headers: IncomingHttpHeaders, body: Proof | undefined): Proof | undefined {
  const given = headers['x-reauthentication'];
  if (typeof given === 'string' && given !== '')
    return /^[0-9]{6}$/.test(given) ? { code: given } : { password: utf8(given) };
  if (body?.code !== undefined) return { code: body.code };
  if (body?.password !== undefined) return { password: body.password };
  return undefined;
}

/** Node reads headers byte by byte; clients write UTF-8. */
function utf8(header: string): string {
  const text = Buffer.from(header, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? header : text;
}

/**
 * Checks a proof; a code is used up with the caller's transaction.
 * @returns by what identity was proved; undefined without a proof
 * @throws 401 REAUTHENTICATION_FAILED
 */
export async function proveAgain(
  tx: Tx,
  settings: Settings,
  { id }: Pick<Actor, 'id'>,
  proof: Proof | undefined,
  context: RequestContext,
): Promise<ProvedBy | undefined> {
  if (!proof) return undefined;
  const user = await userSecretForUpdate(tx, id);
  if (!user || (await originIn(tx, id, context)).locked) throw new WrongProof(id, false);
  if (proof.code === undefined) {
    if (await verifyPassword(user.password_hash, proof.password ?? '')) return 'password';
    throw new WrongProof(id, true);
  }
  const factor = await secondFactor(tx, id);
  const step = factor?.verified ? stepOf(settings, id, factor, proof.code) : undefined;
  if (step === undefined) throw new WrongProof(id, true);
  await takeStep(tx, id, step);
  return 'totp';
}

/** What a request without a proof is told where one is needed. */
export const reauthenticationRequired = (): Problem =>
  problem('REAUTHENTICATION_REQUIRED', {
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_user_authentication"' },
  });

/**
 * Lets in whose login is not older than REAUTHENTICATION_MINUTES, or who proves identity again. The token of a login
 * that must set up a second factor is of a password that was given just now.
 * @throws 401 REAUTHENTICATION_REQUIRED or REAUTHENTICATION_FAILED
 */
export async function requireRecentProof(
  tx: Tx,
  settings: Settings,
  { actor, credential, proof }: { actor: Actor; credential: Credential | undefined; proof: Proof | undefined },
  context: RequestContext,
): Promise<void> {
  if (credential?.audience === 'mfa' || (await proveAgain(tx, settings, actor, proof, context))) return;
  if (!credential?.sid || !(await loginIsRecent(tx, credential.sid, settings.REAUTHENTICATION_MINUTES)))
    throw reauthenticationRequired();
}

/** Counts the proof that a request was refused for, as a failed login is. */
export async function countingWrongProofs<T>(
  database: Database,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof WrongProof && fault.tried)
      await inScope(database, [], async (counting) => {
        const { userId } = fault;
        counting.audit.record({
          study_id: null,
          user_id: userId,
          action: 'reauthentication_failed',
          resource_type: 'user',
          resource_id: userId,
          request_id: context.requestId,
        });
        await countFailure(counting, userId, await originIn(counting.tx, userId, context), context);
      });
    throw fault;
  }
}
