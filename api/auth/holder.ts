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
export async function authenticated(ctx: Context, { may: { signed } }: Route, services: Services): Promise<Holder> {
  try {
    if (signed === 'portal' || signed === 'household' || (signed === 'either' && isPortalToken(ctx)))
      return portalHolder(ctx, services.settings);
    const authorization = ctx.get('authorization');
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
