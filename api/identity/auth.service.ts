import { setTimeout as pause } from 'node:timers/promises';
import type { AuditTrail } from '../../db/audit/audit.js';
import { hashPassword, verifyPassword } from '../../db/identity/passwords.js';
import { secondFactor } from '../../db/identity/mfa.queries.js';
import { listActiveTokens, revokeApiTokensOf } from '../../db/v1/api-tokens.queries.js';
import type { ApiToken } from '../../db/v1/api-tokens.queries.js';
import { endUserLinks } from '../../db/identity/user-links.queries.js';
import { clearOrigin, originOf } from '../../db/identity/login-failures.queries.js';
import {
  insertRefreshToken,
  markRotated,
  refreshTokenForUpdate,
  revokeAllOf,
  revokeFamily,
  updateUser,
  userSecretByEmail,
  userSecretForUpdate,
} from '../../db/identity/users.queries.js';
import type { UserSecret } from '../../db/identity/users.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import type { Actor } from '../http/access.js';
import { requireUncommon } from '../http/security/password-rule.js';
import { notifyUser } from './account-notices.js';
import { countFailure, originIn } from './login-failures.js';
import { challenge, mfaRequired } from './mfa-challenge.js';
import { proveCurrentPassword } from './reauthentication.service.js';
import { opaqueToken, sha256, signToken } from '../http/security/tokens.js';
import { Problem, problem } from '../http/errors.js';
import { assertAllowed } from '../http/middleware/rate-limit.js';
import { auditActor } from '../http/audit-actor.js';
import { noContent, reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

export interface Tokens {
  access_token: string;
  refresh_token: string;
  token_type: 'bearer';
  expires_in: number;
}

const NOBODY = '00000000-0000-0000-0000-000000000000';
/** A hash that no password matches: an unknown email takes as long as a wrong password. */
let nobody: Promise<string> | undefined;

/** A refused login is answered at a multiple of this time, which hides how long the checks took. */
const REFUSED_MS = 400;

/**
 * Checks email and password. Wrong, unknown, locked and deactivated all get the same answer after the same time.
 * Failures are counted by account and address together; a device that logged in before has its own counter.
 * @throws 401 INVALID_CREDENTIALS, 429 by account
 */
export async function login(
  services: Dependencies,
  input: { email: string; password: string },
  context: RequestContext,
): ReturnType<typeof checkedLogin> {
  const began = performance.now();
  try {
    return await checkedLogin(services, input, context);
  } catch (fault) {
    if (fault instanceof Problem && fault.code === 'INVALID_CREDENTIALS')
      await pause(REFUSED_MS - ((performance.now() - began) % REFUSED_MS));
    throw fault;
  }
}

async function checkedLogin(
  services: Dependencies,
  input: { email: string; password: string },
  context: RequestContext,
) {
  const user = await userSecretByEmail(services.database, input.email);
  // Also queried for an unknown email: it takes as long.
  const from = await originOf(services.database, user?.id ?? NOBODY, {
    ip: context.ip,
    userAgent: context.userAgent ?? null,
  });
  // Also limited by account, known or not; by its hash, since counters must not contain addresses. A device that logged
  // in before has its own limit: others can't use it up.
  const account = `account:${sha256(input.email.toLowerCase()).toString('base64url')}`;
  assertAllowed(await services.rateLimits.auth.take(from.known ? `${account}:${from.key}` : account));
  const right = await verifyPassword(
    user?.password_hash ?? (await (nobody ??= hashPassword(opaqueToken()))),
    input.password,
  );
  if (!user) throw problem('INVALID_CREDENTIALS');
  const entered = await withStudyScope(services.database, [], async ({ tx, audit }) => {
    const entry = {
      study_id: null,
      user_id: user.id,
      resource_type: 'user',
      resource_id: user.id,
      request_id: context.requestId,
    };
    const now = await userSecretForUpdate(tx, user.id);
    const origin = await originIn(tx, user.id, context);
    if (right && now && !origin.locked && now.status === 'active' && now.password_hash === user.password_hash) {
      const factor = await secondFactor(tx, now.id);
      if (factor?.verified) {
        // The failure counter stays: only a complete login clears it, or codes could be guessed without limit.
        audit.record({ ...entry, action: 'login_password_accepted' });
        const mfa_token = await challenge(services, tx, now, 'login');
        return { outcome: 'mfa_required' as const, mfa_required: true as const, mfa_token };
      }
      if (mfaRequired(services.settings, now.role)) {
        audit.record({ ...entry, action: 'login_password_accepted', metadata: { mfa: 'setup_required' } });
        const mfa_token = await challenge(services, tx, now, 'setup');
        return { outcome: 'mfa_setup_required' as const, mfa_setup_required: true as const, mfa_token };
      }
      audit.record({ ...entry, action: 'login' });
      return { outcome: 'logged_in' as const, ...(await signIn(services, tx, now, context)) };
    }
    audit.record({
      ...entry,
      action: 'login_failed',
      metadata: { reason: now?.status !== 'active' ? 'inactive' : origin.locked ? 'locked' : 'password' },
    });
    if (!right && !origin.locked) await countFailure({ tx, audit }, user.id, origin, context);
    return undefined;
  });
  // Thrown after the commit, so that the failure counter and its record stay.
  if (!entered) throw problem('INVALID_CREDENTIALS');
  return entered;
}

/** The result of a login after all of its steps. */
export async function signIn(
  services: Dependencies,
  tx: Tx,
  user: Omit<UserSecret, 'password_hash' | 'locked'>,
  context: RequestContext,
) {
  const origin = await originIn(tx, user.id, context);
  await clearOrigin(tx, user.id, origin);
  if (origin.usedBefore && !origin.known) await notifyUser(tx, user.id, 'new_device', context);
  const tokens = await issue(services, tx, user, context);
  return { user: { id: user.id, email: user.email, name: user.name, role: user.role, status: user.status }, tokens };
}

/** Creates an access token and a refresh token, of a new family or of the rotated one. */
async function issue(
  { settings }: Dependencies,
  tx: Tx,
  user: { id: string; role: string; session_epoch: number },
  context: RequestContext,
  familyId?: string,
): Promise<Tokens> {
  const seconds = Math.max(1, Math.round(settings.ACCESS_TOKEN_MINUTES * 60));
  const refresh = opaqueToken();
  const sid = await insertRefreshToken(tx, {
    userId: user.id,
    hash: sha256(refresh),
    days: settings.REFRESH_TOKEN_DAYS,
    familyId,
    origin: { userAgent: context.userAgent ?? null, ip: context.ip },
  });
  return {
    access_token: signToken(settings, 'api', user, seconds, { sid, epoch: user.session_epoch }),
    refresh_token: refresh,
    token_type: 'bearer',
    expires_in: seconds,
  };
}

/**
 * Rotates a refresh token. A token that was rotated before is stolen or repeated, however old it is: its whole family
 * ends. @throws 401
 */
export async function refresh(services: Dependencies, token: string, context: RequestContext): Promise<Tokens> {
  const tokens = await withStudyScope(services.database, [], async ({ tx, audit }) => {
    const row = await refreshTokenForUpdate(tx, sha256(token));
    if (!row || !row.stands || row.status !== 'active') return undefined;
    if (row.rotated) {
      await revokeFamily(tx, row.family_id);
      audit.record({
        study_id: null,
        user_id: row.user_id,
        action: 'refresh_token_reused',
        resource_type: 'user',
        resource_id: row.user_id,
        request_id: context.requestId,
      });
      return undefined;
    }
    if (row.expired) return undefined;
    // The role now requires a second factor: the next login asks for it.
    if (mfaRequired(services.settings, row.role) && !row.mfa_enabled) return undefined;
    await markRotated(tx, row.id);
    return issue(
      services,
      tx,
      { id: row.user_id, role: row.role, session_epoch: row.session_epoch },
      context,
      row.family_id,
    );
  });
  if (!tokens) throw problem('INVALID_REFRESH_TOKEN');
  return tokens;
}

/** Ends the token's family; an unknown token has ended already. */
export async function logout(services: Dependencies, token: string, context: RequestContext): Promise<void> {
  await withStudyScope(services.database, [], async ({ tx, audit }) => {
    const row = await refreshTokenForUpdate(tx, sha256(token));
    if (!row) return;
    await revokeFamily(tx, row.family_id);
    audit.record({
      study_id: null,
      user_id: row.user_id,
      action: 'logout',
      resource_type: 'user',
      resource_id: row.user_id,
      request_id: context.requestId,
    });
  });
}

/**
 * Changes the caller's own password; ends all sessions and mailed links; with `revoke_api_tokens` the tokens of /api/v1
 * as well.
 * @returns the remaining tokens, and the revoked ones
 * @throws 400 when the present one is wrong or the new one common
 */
export async function changePassword(
  tx: Tx,
  audit: AuditTrail,
  actor: Actor,
  input: { current_password: string; new_password: string; revoke_api_tokens?: boolean },
  { context, login }: { context: RequestContext; login: string | undefined },
): Promise<TokensAfter> {
  await proveCurrentPassword(tx, actor, input.current_password, login);
  requireUncommon(input.new_password, actor.email, 'new_password');
  await updateUser(tx, actor.id, { password_hash: await hashPassword(input.new_password) });
  await endUserLinks(tx, actor.id);
  await revokeAllOf(tx, actor.id);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'password_changed',
    resource_type: 'user',
    resource_id: actor.id,
  });
  return tokensAfter({ tx, audit }, actor.id, input.revoke_api_tokens === true, context);
}

/** The tokens of /api/v1 after a new password. */
export interface TokensAfter {
  api_tokens: ApiToken[];
  revoked: string[];
}

/** Revokes a user's tokens of /api/v1 if requested, lists the remaining ones, and notifies the user. */
export async function tokensAfter(
  { tx, audit }: WriteTransaction,
  userId: string,
  revoke: boolean,
  context: RequestContext,
): Promise<TokensAfter> {
  const revoked = revoke ? await revokeApiTokensOf(tx, userId) : [];
  for (const token of revoked)
    audit.record({
      study_id: null,
      user_id: userId,
      action: 'api_token_revoked',
      resource_type: 'api_token',
      resource_id: token,
      request_id: context.requestId,
      metadata: { user_id: userId },
    });
  const left = await listActiveTokens(tx, userId);
  await notifyUser(tx, userId, 'password_changed', context, { tokens_left: left.length });
  return { api_tokens: left, revoked };
}

/** The answer to a new password, with the tokens, if there are or were any. */
export const withTokens = (tokens: TokensAfter): Reply =>
  tokens.api_tokens.length + tokens.revoked.length > 0 ? reply(200, tokens) : noContent();
