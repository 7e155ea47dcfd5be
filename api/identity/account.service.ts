import type { RequestScope } from '../http/state.js';
import { setTimeout as pause } from 'node:timers/promises';
import { putOutbox } from '../../db/outbox/outbox.js';
import { hashPassword } from '../../db/identity/passwords.js';
import { linkHash } from '../../db/portal/portal.queries.js';
import { endUserLinks, insertUserLink, userOfLink } from '../../db/identity/user-links.queries.js';
import type { LinkPurpose } from '../../db/identity/user-links.queries.js';
import { clearFailedLogins } from '../../db/identity/login-failures.queries.js';
import {
  familyOf,
  revokeAllOf,
  revokeFamily,
  sessionsOf,
  updateUser,
  userById,
  userSecretByEmail,
  userSecretForUpdate,
} from '../../db/identity/users.queries.js';
import type { LoginSessionRow, UserRow } from '../../db/identity/users.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { requireUncommon } from '../http/security/password-rule.js';
import { sessionSecret } from '../http/security/portal.js';
import { opaqueToken, sha256 } from '../http/security/tokens.js';
import { problem } from '../http/errors.js';
import { assertAllowed } from '../http/middleware/rate-limit.js';
import { auditActor } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import type { Settings } from '../../settings.js';
import { originIn } from './login-failures.js';
import { tokensAfter } from './auth.service.js';
import type { TokensAfter } from './auth.service.js';
import { maySendLink, requireLinkQuota } from './quotas.js';
import { register } from './users.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** The minimum time of an answer, so that it does not reveal whether there was anything to do. */
const MIN_MS = 150;

/** @param language of the page by which the user asks for it, if there is one */
async function queueLink(tx: Tx, userId: string, purpose: LinkPurpose, language?: string): Promise<void> {
  const subject = await insertUserLink(tx, userId, purpose);
  await putOutbox(tx, [{ topic: 'user-link', studyId: null, subject, ...(language && { payload: { language } }) }]);
}

/**
 * Sends a link for a new password, if there is such an active account; the answer is the same either way. @throws 429
 * by account
 */
export async function forgotPassword(
  services: Dependencies,
  email: string,
  context: RequestContext,
  language?: string,
): Promise<void> {
  const account = sha256(email.toLowerCase()).toString('base64url');
  assertAllowed(await services.rateLimits.auth.take(`forgot:${account}`));
  await Promise.all([
    pause(MIN_MS),
    withStudyScope(services.database, [], async ({ tx, audit }) => {
      const user = await userSecretByEmail(tx, email);
      if (user?.status !== 'active' || !(await maySendLink(tx, services.settings, { user_id: user.id }))) return;
      await queueLink(tx, user.id, 'password_reset', language);
      audit.record({
        study_id: null,
        user_id: user.id,
        action: 'password_reset_requested',
        resource_type: 'user',
        resource_id: user.id,
        request_id: context.requestId,
      });
    }),
  ]);
}

/**
 * Sets a new password by a mailed link: after a forgotten one, or for an invitation. Ends all logins; a second factor
 * stays and is required. With `revoke_api_tokens` the tokens of /api/v1 end as well.
 * @throws 401 INVALID_LINK, 400 PASSWORD_TOO_COMMON (the link stays valid)
 */
export async function resetPassword(
  { database, settings }: Dependencies,
  input: { token: string; new_password: string; revoke_api_tokens?: boolean },
  context: RequestContext,
): Promise<TokensAfter> {
  return withStudyScope(database, [], async ({ tx, audit }) => {
    const user = await userOfLink(tx, linkHash(sessionSecret(settings), input.token));
    if (!user) throw problem('INVALID_LINK');
    requireUncommon(input.new_password, user.email, 'new_password');
    await updateUser(tx, user.user_id, { password_hash: await hashPassword(input.new_password) });
    await clearFailedLogins(tx, user.user_id);
    await endUserLinks(tx, user.user_id);
    await revokeAllOf(tx, user.user_id);
    audit.record({
      study_id: null,
      user_id: user.user_id,
      action: 'password_reset',
      resource_type: 'user',
      resource_id: user.user_id,
      request_id: context.requestId,
      metadata: { by: user.purpose },
    });
    // A user who has never logged in had no password to lose, and no tokens.
    if (user.purpose === 'invitation' && !(await originIn(tx, user.user_id, context)).usedBefore)
      return { api_tokens: [], revoked: [] };
    return tokensAfter({ tx, audit }, user.user_id, input.revoke_api_tokens === true, context);
  });
}

/** Creates a user without a password, who chooses one by a mailed link. @throws 409 EMAIL_TAKEN, 422 */
export async function inviteUser(
  change: RequestScope,
  input: { email: string; name: string; role: string; study_ids?: string[]; site_ids?: string[] },
): Promise<UserRow> {
  const user = await register(change, { ...input, password: opaqueToken() });
  await queueLink(change.tx, user.id, 'invitation');
  change.audit.record({
    ...auditActor(change.actor, change.context),
    study_id: null,
    action: 'user_invited',
    resource_type: 'user',
    resource_id: user.id,
  });
  return user;
}

/** Sends another link to an invited user. @throws 404, 409 for an inactive user, 429 QUOTA_EXCEEDED */
export async function inviteAgain(
  { tx, audit, actor, context }: RequestScope,
  settings: Settings,
  id: string,
): Promise<void> {
  const user = await userById(tx, id);
  if (!user) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  if (user.status !== 'active') throw problem('CONFLICT', { detail: 'The user is not active.' });
  await requireLinkQuota(tx, settings, { user_id: id });
  await queueLink(tx, id, 'invitation');
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'user_invited',
    resource_type: 'user',
    resource_id: id,
  });
}

/** Ends one of the caller's own logins. @throws 404 */
export async function revokeLogin({ tx, audit, actor, context }: RequestScope, familyId: string): Promise<void> {
  await userSecretForUpdate(tx, actor.id);
  if (!(await familyOf(tx, actor.id, familyId))) throw problem('NOT_FOUND', { detail: 'There is no such login.' });
  await revokeFamily(tx, familyId);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'logout',
    resource_type: 'user',
    resource_id: actor.id,
    metadata: { session: familyId },
  });
}

/** Ends all of the caller's logins, including this one and all access tokens, at once. */
export async function revokeAllLogins({ tx, audit, actor, context }: RequestScope): Promise<void> {
  await userSecretForUpdate(tx, actor.id);
  await revokeAllOf(tx, actor.id);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'logout_everywhere',
    resource_type: 'user',
    resource_id: actor.id,
  });
}

/** A user's open logins, for an admin. @throws 404 */
export async function loginsOf(tx: Tx, userId: string): Promise<LoginSessionRow[]> {
  if (!(await userById(tx, userId))) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  return sessionsOf(tx, userId);
}

/** An admin ends all of a user's logins, including access tokens, at once. @throws 404 */
export async function endLoginsOf({ tx, audit, actor, context }: RequestScope, userId: string): Promise<void> {
  if (!(await userSecretForUpdate(tx, userId))) throw problem('NOT_FOUND', { detail: 'There is no such user.' });
  await revokeAllOf(tx, userId);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'logins_ended',
    resource_type: 'user',
    resource_id: userId,
  });
}
