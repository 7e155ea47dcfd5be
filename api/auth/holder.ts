import type { Context } from 'koa';
import { problem } from '../errors.js';
import { count } from '../middleware/count.js';
import type { Credential, Route } from '../route.js';
import type { Services } from '../services.js';
import { isPortalToken, portalHolder } from './portal.js';
import type { PortalHolder } from './portal.js';
import { bearer, claimedAudience, sha256, verifyToken } from './tokens.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whom a token was given to: a user, participant or caregiver by id, or the token of /api/v1 itself. */
export type Holder =
  | { kind: 'user'; id: string; userId: string; credential: Credential; epoch: number | undefined }
  | { kind: 'token'; id: string; userId: string; hash: string }
  | PortalHolder;

/**
 * Who holds the token of the request. Attempts with a bad one count for the address, so that tokens cannot be tried
 * without end.
 */
export async function authenticated(
  ctx: Context,
  { may: { signed }, takesTicket }: Route,
  services: Services,
  studyId?: string,
): Promise<Holder> {
  try {
    if (signed === 'portal' || signed === 'household' || (signed === 'either' && isPortalToken(ctx)))
      return portalHolder(ctx, services.settings);
    const authorization = ctx.get('authorization');
    const ticket = takesTicket && authorization === '' ? ticketOf(ctx) : undefined;
    if (ticket !== undefined) return ticketHolder(services.settings, ticket, studyId);
    const token = bearer(authorization);
    if (signed === 'scoped') {
      const { jti, sub } = verifyToken(services.settings, 'v1', token);
      if (!UUID.test(jti)) throw problem('INVALID_TOKEN');
      return { kind: 'token', id: jti, userId: sub, hash: sha256(token).toString('hex') };
    }
    const audience = signed === 'setup' && claimedAudience(authorization) === 'mfa' ? 'mfa' : 'api';
    const { sub, jti, sid, epoch } = verifyToken(services.settings, audience, token);
    return { kind: 'user', id: sub, userId: sub, epoch, credential: { audience, jti, sid } };
  } catch (fault) {
    await count(ctx, 'general', undefined, services);
    throw fault;
  }
}

/** The ticket of a request for a stream of events: what opens such streams in browsers can send no header. */
function ticketOf(ctx: Context): string | undefined {
  const { ticket } = ctx.query;
  return typeof ticket === 'string' && ctx.get('accept').includes('text/event-stream') ? ticket : undefined;
}

/** @throws 401 INVALID_TOKEN: expired, forged, or for another study */
function ticketHolder(settings: Services['settings'], ticket: string, studyId: string | undefined): Holder {
  const { sub, jti, sid, epoch, study } = verifyToken(settings, 'events', ticket);
  if (study === undefined || study !== studyId?.toLowerCase()) throw problem('INVALID_TOKEN');
  return { kind: 'user', id: sub, userId: sub, epoch, credential: { audience: 'api', jti, sid } };
}
