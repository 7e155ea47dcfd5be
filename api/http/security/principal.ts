import type { Context } from 'koa';
import type { Settings } from '../../../settings.js';
import type { Access } from '../access.js';
import { EVENT_STREAM, JSON_OR_STREAM } from '../conventions/event-stream.js';
import { problem } from '../errors.js';
import { consolePrincipal } from './console-login.js';
import { isPortalToken, portalPrincipal } from './portal.js';
import type { PortalPrincipal } from './portal.js';
import { bearerToken, claimedAudience, sha256, verifyToken } from './tokens.js';
import type { Credential } from '../request-context.js';
import { UUID } from '../../../db/client/uuid.js';

/** The holder of a token: a user, participant or caregiver by id, or the token of /api/v1 itself. */
export type Principal =
  | { kind: 'user'; id: string; userId: string; credential: Credential; epoch: number | undefined }
  | { kind: 'token'; id: string; userId: string; hash: string }
  | PortalPrincipal;

/** The holder of a request's token, without any query. @throws 401, 403 CSRF_REFUSED */
export function principalOf(
  ctx: Context,
  { token: kind, byTicket, byConsole, evenWithdrawn }: Access,
  settings: Settings,
  studyId?: string,
): Principal {
  if (byConsole) return consolePrincipal(ctx, settings, byConsole);
  if (kind === 'portal' || kind === 'anyPortalUser' || (kind === 'either' && isPortalToken(ctx)))
    return portalPrincipal(ctx, settings, evenWithdrawn);
  const authorization = ctx.get('authorization');
  const ticket = byTicket && authorization === '' ? ticketOf(ctx) : undefined;
  if (ticket !== undefined) return ticketHolder(settings, ticket, studyId);
  const token = bearerToken(authorization);
  if (kind === 'scoped') {
    const { jti, sub } = verifyToken(settings, 'v1', token);
    if (!UUID.test(jti)) throw problem('INVALID_TOKEN');
    return { kind: 'token', id: jti, userId: sub, hash: sha256(token).toString('hex') };
  }
  const audience = kind === 'setup' && claimedAudience(authorization) === 'mfa' ? 'mfa' : 'api';
  const { sub, jti, sid, epoch } = verifyToken(settings, audience, token);
  return { kind: 'user', id: sub, userId: sub, epoch, credential: { audience, jti, sid } };
}

/** The ticket of an event stream request: browsers can't send headers when they open such streams. */
function ticketOf(ctx: Context): string | undefined {
  const { ticket } = ctx.query;
  return typeof ticket === 'string' && ctx.accepts(JSON_OR_STREAM) === EVENT_STREAM ? ticket : undefined;
}

/** @throws 401 INVALID_TOKEN: expired, forged, or for another study */
function ticketHolder(settings: Settings, ticket: string, studyId: string | undefined): Principal {
  const { sub, jti, sid, epoch, study } = verifyToken(settings, 'events', ticket);
  if (study === undefined || study !== studyId?.toLowerCase()) throw problem('INVALID_TOKEN');
  return { kind: 'user', id: sub, userId: sub, epoch, credential: { audience: 'api', jti, sid } };
}
