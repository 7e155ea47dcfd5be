import type { AuditTrail } from '../../db/audit/audit.js';
import {
  isChallengeValid,
  confirmSecondFactor,
  endChallenge,
  keepPendingFactor,
  recoveryCodesLeft,
  removeSecondFactor,
  replaceRecoveryCodes,
  secondFactor,
  claimTotpStep,
  totpPlace,
  useRecoveryCode,
} from '../../db/identity/mfa.queries.js';
import { revokeAllOf, userById, userSecretForUpdate } from '../../db/identity/users.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import type { Actor } from '../http/access.js';
import { newRecoveryCodes, recoveryHash } from '../http/security/recovery-codes.js';
import { verifyToken } from '../http/security/tokens.js';
import { newTotpSecret, otpauthUrl } from '../http/security/totp.js';
import { problem } from '../http/errors.js';
import { assertAllowed } from '../http/middleware/rate-limit.js';
import { auditActor } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import { notifyUser } from './account-notices.js';
import { signIn } from './auth.service.js';
import { countFailure, originIn } from './login-failures.js';
import { mfaRequired } from './mfa-challenge.js';
import { requireRecentProof } from './reauthentication.service.js';
import type { ReauthenticationProof as Identity } from './reauthentication.service.js';
import { stepOf, secretBox } from './totp-proof.js';
import type { Tx } from '../../db/client/database.js';
import type { Credential } from '../http/request-context.js';
import type { RequestContext } from '../http/request-context.js';

/** Proof of the second factor: a code of the authenticator, or a recovery code, each valid once. */
export interface MfaProof {
  code?: string;
  recovery_code?: string;
}
interface Own {
  services: Dependencies;
  actor: Actor;
  credential: Credential | undefined;
  context: RequestContext;
}

const entryOf = (userId: string, context: RequestContext) => ({
  study_id: null,
  user_id: userId,
  resource_type: 'user',
  resource_id: userId,
  request_id: context.requestId,
});

/** Whether the caller has a second factor, must have one, and how many recovery codes remain. */
export async function mfaStatus(
  tx: Tx,
  settings: Settings,
  actor: Actor,
): Promise<{ enabled: boolean; required: boolean; recovery_codes_left: number }> {
  const user = await userById(tx, actor.id);
  const enabled = user?.mfa_enabled === true;
  return {
    enabled,
    required: mfaRequired(settings, actor.role),
    recovery_codes_left: enabled ? await recoveryCodesLeft(tx, actor.id) : 0,
  };
}

/**
 * Creates a secret, which counts after its verification; it replaces an unverified one. An older login must prove
 * identity again.
 * @throws 401 a used mfa token, REAUTHENTICATION_REQUIRED or …_FAILED, 409 MFA_ENABLED, 503 without an encryption key
 */
export async function setUpMfa(
  { services, actor, credential, context }: Own,
  proof: Identity | undefined,
): Promise<{ secret: string; otpauth_url: string; recovery_codes: string[] }> {
  const secret = newTotpSecret();
  const codes = newRecoveryCodes();
  const sealed = secretBox(services.settings, (box) => box.seal(secret, totpPlace(actor.id)));
  await withStudyScope(services.database, [], async ({ tx, audit }) => {
    // Of two set-ups at once the second replaces the first, as one after the other.
    await userSecretForUpdate(tx, actor.id);
    await requireStanding(tx, actor, credential);
    await requireRecentProof(tx, services.settings, { actor, credential, proof });
    if ((await secondFactor(tx, actor.id))?.verified) throw problem('MFA_ENABLED');
    await keepPendingFactor(tx, actor.id, sealed, codes.map(recoveryHash));
    audit.record({
      ...auditActor(actor, context),
      study_id: null,
      action: 'mfa_setup_started',
      resource_type: 'user',
      resource_id: actor.id,
    });
  });
  return { secret, otpauth_url: otpauthUrl(secret, actor.email), recovery_codes: codes };
}

/**
 * Enables the second factor by its first code. With the mfa token of a login this completes the login and returns its
 * tokens. The code stays valid for one login: directly after the setup there is no newer one yet.
 * @throws 400 WRONG_CODE, 401 a used mfa token, 409 MFA_ENABLED or MFA_NOT_SET_UP
 */
export async function verifyMfa({ services, actor, credential, context }: Own, code: string) {
  return withStudyScope(services.database, [], async ({ tx, audit }) => {
    // The user first, as a proof of the factor does.
    const user = await userSecretForUpdate(tx, actor.id);
    await requireStanding(tx, actor, credential);
    const factor = await secondFactor(tx, actor.id);
    if (!factor) throw problem('MFA_NOT_SET_UP');
    if (factor.verified) throw problem('MFA_ENABLED');
    if (stepOf(services.settings, actor.id, factor, code) === undefined)
      throw problem('WRONG_CODE', {
        errors: [{ path: 'code', code: 'WRONG_CODE', message: 'code is not the one that the authenticator shows now' }],
      });
    await confirmSecondFactor(tx, actor.id);
    const entry = entryOf(actor.id, context);
    audit.record({ ...entry, action: 'mfa_enabled' });
    await notifyUser(tx, actor.id, 'mfa_enabled', context);
    if (credential?.audience !== 'mfa') return { mfa_enabled: true as const };
    await endChallenge(tx, credential.jti);
    audit.record({ ...entry, action: 'login', metadata: { factor: 'totp' } });
    return {
      mfa_enabled: true as const,
      ...(await signIn(services, tx, user!, context)),
    };
  });
}

/**
 * Completes a login by the second factor. A wrong code counts as a failed login: five lock the account.
 * @throws 401 INVALID_TOKEN for an invalid mfa token, 401 INVALID_CODE, 429
 */
export async function loginByMfa(
  services: Dependencies,
  { mfa_token, ...proof }: MfaProof & { mfa_token: string },
  context: RequestContext,
) {
  const { sub: userId, jti } = verifyToken(services.settings, 'mfa', mfa_token);
  assertAllowed(await services.rateLimits.auth.take(`mfa:${userId}`));
  const entered = await withStudyScope(services.database, [], async (work) => {
    const user = await userSecretForUpdate(work.tx, userId);
    if (!user || user.status !== 'active' || !(await isChallengeValid(work.tx, { id: jti, userId, purpose: 'login' })))
      throw problem('INVALID_TOKEN', { detail: 'The mfa token was used or has expired: log in again.' });
    const factor = await proven(work, services.settings, userId, proof, context);
    if (!factor) return undefined;
    await endChallenge(work.tx, jti);
    work.audit.record({ ...entryOf(userId, context), action: 'login', metadata: { factor } });
    return { outcome: 'logged_in' as const, ...(await signIn(services, work.tx, user, context)) };
  });
  // Thrown after the commit, so that the failure counter and its record stay.
  if (!entered) throw problem('INVALID_CODE');
  return entered;
}

/** Regenerates recovery codes; invalidates the old ones. @throws 400 WRONG_CODE, 409 MFA_NOT_SET_UP */
export async function renewRecoveryCodes(own: Own, proof: MfaProof): Promise<{ recovery_codes: string[] }> {
  const codes = newRecoveryCodes();
  await proving(own, proof, async ({ tx, audit }) => {
    await replaceRecoveryCodes(tx, own.actor.id, codes.map(recoveryHash));
    audit.record({ ...entryOf(own.actor.id, own.context), action: 'mfa_recovery_codes_renewed' });
    await notifyUser(tx, own.actor.id, 'recovery_codes_renewed', own.context);
  });
  return { recovery_codes: codes };
}

/** Disables the second factor. @throws 400 WRONG_CODE, 403 MFA_REQUIRED if the role requires it, 409 MFA_NOT_SET_UP */
export async function disableMfa(own: Own, proof: MfaProof): Promise<void> {
  if (mfaRequired(own.services.settings, own.actor.role)) throw problem('MFA_REQUIRED');
  await proving(own, proof, async ({ tx, audit }) => {
    await removeSecondFactor(tx, own.actor.id);
    audit.record({ ...entryOf(own.actor.id, own.context), action: 'mfa_disabled' });
    await notifyUser(tx, own.actor.id, 'mfa_disabled', own.context);
  });
}

/** An admin removes a user's lost second factor; ends the user's logins. @throws 404, 409 MFA_NOT_SET_UP */
export async function resetMfa(
  { tx, audit, actor, context }: { tx: Tx; audit: AuditTrail; actor: Actor; context: RequestContext },
  userId: string,
): Promise<void> {
  if (!(await userSecretForUpdate(tx, userId))) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  if (!(await removeSecondFactor(tx, userId))) throw problem('MFA_NOT_SET_UP');
  await revokeAllOf(tx, userId);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'mfa_reset',
    resource_type: 'user',
    resource_id: userId,
  });
  // The mail must not contain the administrator's address.
  await notifyUser(tx, userId, 'mfa_reset', context, { ip: null, user_agent: null });
}

/** A change of the caller's own second factor, which requires a proof of it. */
async function proving(
  { services, actor, context }: Own,
  proof: MfaProof,
  change: (work: WriteTransaction) => Promise<void>,
): Promise<void> {
  const done = await withStudyScope(services.database, [], async (work) => {
    await userSecretForUpdate(work.tx, actor.id);
    if (!(await secondFactor(work.tx, actor.id))?.verified) throw problem('MFA_NOT_SET_UP');
    if (!(await proven(work, services.settings, actor.id, proof, context))) return false;
    await change(work);
    return true;
  });
  if (!done) throw problem('WRONG_CODE', { detail: 'The code is wrong or was used already.' });
}

/** Uses up the proof. A wrong one counts towards the lock of its origin. @returns the kind of proof */
async function proven(
  { tx, audit }: WriteTransaction,
  settings: Settings,
  userId: string,
  { code, recovery_code }: MfaProof,
  context: RequestContext,
): Promise<'totp' | 'recovery_code' | undefined> {
  const factor = await secondFactor(tx, userId);
  const entry = entryOf(userId, context);
  const origin = await originIn(tx, userId, context);
  if (origin.locked) return undefined;
  if (factor?.verified) {
    if (recovery_code !== undefined && (await useRecoveryCode(tx, userId, recoveryHash(recovery_code)))) {
      audit.record({
        ...entry,
        action: 'mfa_recovery_code_used',
        metadata: { left: await recoveryCodesLeft(tx, userId) },
      });
      await notifyUser(tx, userId, 'recovery_code_used', context);
      return 'recovery_code';
    }
    const step = code === undefined ? undefined : stepOf(settings, userId, factor, code);
    if (step !== undefined) {
      await claimTotpStep(tx, userId, step);
      return 'totp';
    }
  }
  audit.record({ ...entry, action: 'mfa_failed', metadata: { factor: code === undefined ? 'recovery_code' : 'totp' } });
  await countFailure({ tx, audit }, userId, origin, context);
  return undefined;
}

/** @throws 401 when the caller's mfa token is used or expired */
async function requireStanding(tx: Tx, actor: Actor, credential: Credential | undefined): Promise<void> {
  if (credential?.audience !== 'mfa') return;
  if (!(await isChallengeValid(tx, { id: credential.jti, userId: actor.id, purpose: 'setup' })))
    throw problem('INVALID_TOKEN', { detail: 'The mfa token was used or has expired: log in again.' });
}
