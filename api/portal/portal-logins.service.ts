import type { IncomingHttpHeaders } from 'node:http';
import { asCaregiver, linkHash } from '../../db/portal/portal.queries.js';
import {
  endPortalLogin,
  insertPortalToken,
  markPortalTokenRotated,
  portalLoginsOf,
  portalTokenForUpdate,
} from '../../db/portal/portal-logins.queries.js';
import type { PortalTokenRow, Whose } from '../../db/portal/portal-logins.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { portalSession, refreshCookie, refreshTokenIn, sessionSecret } from '../http/security/portal.js';
import type { PortalPrincipal, PortalSession } from '../http/security/portal.js';
import { opaqueToken } from '../http/security/tokens.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** The result of a login: tokens for API clients, cookies for pages. */
export interface PortalTokens {
  body: { portal_token: string; expires_in: number; refresh_token: string; refresh_expires_in: number };
  cookies: string[];
}

/**
 * Creates a portal token, and a refresh token of a new login or of the rotated one.
 * @param remember a page also keeps the refresh token, in its own cookie
 */
export async function issuePortalTokens(
  { settings }: Dependencies,
  tx: Tx,
  to: { holder: PortalPrincipal; study_id: string; family_id?: string; remember: boolean },
  context: RequestContext,
): Promise<PortalTokens> {
  const refresh = opaqueToken();
  const login = await insertPortalToken(tx, {
    study_id: to.study_id,
    whose: to.holder.kind === 'participant' ? { participant_id: to.holder.id } : { caregiver_id: to.holder.id },
    family_id: to.family_id,
    hash: linkHash(sessionSecret(settings), refresh),
    days: settings.PORTAL_REFRESH_DAYS,
    origin: { userAgent: context.userAgent ?? null, ip: context.ip },
  });
  const session: PortalSession = portalSession(settings, { ...to.holder, login });
  return {
    body: {
      portal_token: session.token,
      expires_in: session.seconds,
      refresh_token: refresh,
      refresh_expires_in: refreshSeconds(settings),
    },
    cookies: [session.cookie, ...(to.remember ? [refreshCookie(settings, refresh, refreshSeconds(settings))] : [])],
  };
}

const refreshSeconds = ({ PORTAL_REFRESH_DAYS }: Dependencies['settings']): number =>
  Math.max(1, Math.round(PORTAL_REFRESH_DAYS * 86_400));

const aboutHolder = ({
  participant_id,
  caregiver_id,
  study_id,
}: Omit<PortalTokenRow, 'id' | 'stands' | 'expired'> | Ended) => ({
  study_id,
  user_id: null,
  resource_type: caregiver_id === null ? 'participant' : 'caregiver',
  resource_id: (caregiver_id ?? participant_id)!,
  ...(caregiver_id !== null && { metadata: asCaregiver(caregiver_id) }),
});
type Ended = { study_id: string; participant_id: string | null; caregiver_id: string | null };

/**
 * Rotates a refresh token: of the body, else of a page's cookie. A token that was rotated before is stolen or repeated,
 * however old it is: its login ends, including portal tokens.
 * @throws 401 INVALID_REFRESH_TOKEN, 403 CSRF_REFUSED for a cookie that another site may have sent
 */
export async function refreshPortal(
  services: Dependencies,
  input: string | undefined,
  headers: IncomingHttpHeaders,
  context: RequestContext,
): Promise<PortalTokens> {
  const token = input ?? refreshTokenIn(headers);
  const tokens =
    token === undefined
      ? undefined
      : await withStudyScope(services.database, '*', async ({ tx, audit }) => {
          const row = await portalTokenForUpdate(tx, linkHash(sessionSecret(services.settings), token));
          if (!row || !row.stands || !row.let_in) return undefined;
          if (row.rotated) {
            await endPortalLogin(tx, row.family_id);
            audit.record({
              ...aboutHolder(row),
              action: 'portal_refresh_token_reused',
              request_id: context.requestId,
            });
            return undefined;
          }
          if (row.expired) return undefined;
          await markPortalTokenRotated(tx, row.id);
          const holder: PortalPrincipal =
            row.participant_id === null
              ? { kind: 'caregiver', id: row.caregiver_id!, epoch: row.session_epoch! }
              : { kind: 'participant', id: row.participant_id };
          return issuePortalTokens(
            services,
            tx,
            { holder, study_id: row.study_id, family_id: row.family_id, remember: input === undefined },
            context,
          );
        });
  // Thrown after the commit, so that the login stays ended.
  if (!tokens) throw problem('INVALID_REFRESH_TOKEN');
  return tokens;
}

/**
 * Ends a request's logins: that of its portal token or cookie, and that of a refresh token. Unknown ones have ended.
 */
export async function leavePortal(
  services: Dependencies,
  credentials: { login: string | undefined; refreshToken: string | undefined },
  context: RequestContext,
): Promise<void> {
  if (credentials.login === undefined && credentials.refreshToken === undefined) return;
  await withStudyScope(services.database, '*', async ({ tx, audit }) => {
    const row =
      credentials.refreshToken === undefined
        ? undefined
        : await portalTokenForUpdate(tx, linkHash(sessionSecret(services.settings), credentials.refreshToken));
    for (const family of new Set([credentials.login, row?.family_id].filter((one) => one !== undefined))) {
      const ended = await endPortalLogin(tx, family);
      if (ended) audit.record({ ...aboutHolder(ended), action: 'portal_session_ended', request_id: context.requestId });
    }
  });
}

/** Ends one login of a participant or caregiver, by staff. @throws 404 */
export async function revokePortalLogin(
  change: RequestScope,
  whose: Whose,
  studyId: string,
  login: string,
): Promise<void> {
  if (!(await portalLoginsOf(change.tx, whose)).some(({ id }) => id === login))
    throw problem('NOT_FOUND', { detail: 'There is no such login.' });
  await revoke(change, whose, studyId, [login]);
}

/** Ends all of them. */
export async function revokePortalLogins(change: RequestScope, whose: Whose, studyId: string): Promise<void> {
  await revoke(
    change,
    whose,
    studyId,
    (await portalLoginsOf(change.tx, whose)).map(({ id }) => id),
  );
}

async function revoke({ tx, audit, actor, context }: RequestScope, whose: Whose, study_id: string, logins: string[]) {
  for (const login of logins) await endPortalLogin(tx, login);
  if (logins.length === 0) return;
  const [[column, id]] = Object.entries(whose) as [[string, string]];
  audit.record({
    ...auditActor(actor, context),
    study_id,
    action: 'portal_sessions_revoked',
    resource_type: column === 'participant_id' ? 'participant' : 'caregiver',
    resource_id: id,
    metadata: { sessions: logins },
  });
}
