import type { RequestScope } from '../http/state.js';
import { randomUUID } from 'node:crypto';
import { apiTokenById, countActiveTokens, insertApiToken, revokeApiToken } from '../../db/v1/api-tokens.queries.js';
import type { ApiToken } from '../../db/v1/api-tokens.queries.js';
import { missingIds, userSecretForUpdate } from '../../db/identity/users.queries.js';
import { rolesOfScope } from '../http/access.js';
import type { Actor, TokenScope } from '../http/access.js';
import { sha256, signToken } from '../http/security/tokens.js';
import { brokenRule, problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import { notifyUser } from '../identity/account-notices.js';
import { requireRecentProof } from '../identity/reauthentication.service.js';
import type { ReauthenticationProof } from '../identity/reauthentication.service.js';
import type { Tx } from '../../db/client/database.js';
import type { Credential } from '../http/request-context.js';

const DEFAULT_DAYS = 90;
const DAY_SECONDS = 86_400;
/** Of a user, at a time: a new password lists them all. */
const MAX_TOKENS = 200;

/**
 * Creates a token of /api/v1 from a login. It can't have more rights than its user. An older login must prove identity
 * again: the token outlives it.
 * @returns the record with the token, which is only shown here
 * @throws 400 TOO_MANY, 401 REAUTHENTICATION_REQUIRED or …_FAILED, 403 a scope that the role does not allow, 404 a
 * study without access
 */
export async function mintToken(
  { tx, audit, actor, context }: RequestScope,
  { settings }: Dependencies,
  input: { name: string; scopes: TokenScope[]; study_ids: string[]; expires_in_days?: number },
  minting: { credential: Credential | undefined; proof: ReauthenticationProof | undefined },
): Promise<ApiToken & { token: string }> {
  const scopes = [...new Set(input.scopes)];
  const beyond = scopes.filter((scope) => !rolesOfScope[scope].includes(actor.role));
  if (beyond.length > 0)
    throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not allow ${beyond.join(', ')}.` });
  const studyIds = [...new Set(input.study_ids.map((id) => id.toLowerCase()))];
  const missing = await missingIds(tx, 'studies', studyIds);
  if (missing.length > 0)
    throw problem('NOT_FOUND', {
      detail: `There is no such study: ${missing.join(', ')}.`,
      errors: missing.map((id) => ({
        path: `study_ids.${studyIds.indexOf(id)}`,
        code: 'UNKNOWN_STUDY',
        message: `${id} is no study that you may see`,
      })),
    });
  await requireStandingLogin(tx, actor);
  await requireRecentProof(tx, settings, { actor, ...minting });
  if ((await countActiveTokens(tx, actor.id)) >= MAX_TOKENS)
    throw brokenRule('name', 'TOO_MANY', `is one too many: you have ${MAX_TOKENS} tokens that work, end one of them`);
  const id = randomUUID();
  const seconds = Math.max(1, Math.round((input.expires_in_days ?? DEFAULT_DAYS) * DAY_SECONDS));
  const token = signToken(settings, 'v1', actor, seconds, { jti: id });
  const stored = await insertApiToken(tx, {
    id,
    userId: actor.id,
    name: input.name,
    scopes,
    studyIds,
    hash: sha256(token),
    seconds,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'api_token_created',
    resource_type: 'api_token',
    resource_id: id,
    metadata: { scopes, study_ids: studyIds, expires_at: stored.expires_at },
  });
  await notifyUser(tx, actor.id, 'api_token_created', context, { token_name: input.name });
  return { ...stored, token };
}

/**
 * Locks the user: an end of all logins, which ends tokens too, comes before this transaction, and then nothing is made,
 * or after it.
 * @throws 401
 */
async function requireStandingLogin(tx: Tx, actor: Actor): Promise<void> {
  const user = await userSecretForUpdate(tx, actor.id);
  if (user?.status !== 'active' || user.session_epoch !== actor.session_epoch)
    throw problem('INVALID_TOKEN', { detail: 'The login of this access token was ended.' });
}

/** One of the caller's own tokens, or, for an admin, anyone's. @throws 404 */
export async function getTokenOrThrow(tx: Tx, actor: Actor, id: string): Promise<ApiToken> {
  const token = await apiTokenById(tx, id);
  if (!token || (token.user_id !== actor.id && !actor.isAdmin))
    throw problem('NOT_FOUND', { detail: 'There is no such token.' });
  return token;
}

/** Revokes a token at once. @throws 404 */
export async function endToken(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  const token = await getTokenOrThrow(tx, actor, id);
  assertIfMatch({ ...token });
  await revokeApiToken(tx, token.id);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'api_token_revoked',
    resource_type: 'api_token',
    resource_id: token.id,
    metadata: { user_id: token.user_id },
  });
}
