import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from 'koa';
import type { Settings } from '../../../settings.js';
import { isHttpsOutside } from '../../public-url.js';
import { Problem, problem } from '../errors.js';
import { nowMs } from '../../../db/client/clock.js';
import { bearerToken, challenge, claimedAudience, signToken, verifyToken } from './tokens.js';
import type { TokenClaims } from './tokens.js';

/** The cookie of a portal session, for pages; other clients send the token as bearer. */
export const PORTAL_COOKIE = 'portal_session';
/** A page's refresh token: sent only where it is exchanged or revoked. */
export const REFRESH_COOKIE = 'portal_refresh';
/** A page of this service can send this header; a form or a page of another site cannot. */
export const CSRF_HEADER = 'X-Portal-CSRF';

/** The secret of links and cookies. @throws Error in one sentence when it is not set */
export function sessionSecret(settings: Settings): string {
  if (!settings.SESSION_SECRET)
    throw new Error('SESSION_SECRET is not set: give at least 32 random characters ("npm start" makes one).');
  return settings.SESSION_SECRET;
}

const attributes = (settings: Settings, path: string, seconds: number): string =>
  `Path=${path}; Max-Age=${seconds}; HttpOnly; ` + `SameSite=Strict${isHttpsOutside(settings) ? '; Secure' : ''}`;

const clearedCookie = (settings: Settings, name: string, path: string): string =>
  `${name}=; ${attributes(settings, path, 0)}`;

/** The `Set-Cookie` lines that remove the portal's cookies. */
export const clearedCookies = (settings: Settings): string[] => [
  clearedCookie(settings, PORTAL_COOKIE, '/api'),
  clearedCookie(settings, REFRESH_COOKIE, '/api/portal'),
];

/** The `Set-Cookie` of a page's refresh token. */
export const refreshCookie = (settings: Settings, token: string, seconds: number): string =>
  `${REFRESH_COOKIE}=${token}; ${attributes(settings, '/api/portal', seconds)}`;

const cookieIn = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  (headers.cookie ?? '')
    .split(';')
    .map((one) => one.trim())
    .find((one) => one.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/**
 * The refresh token of a page's cookie; undefined: none.
 * @throws 403 CSRF_REFUSED if the request may come from another site
 */
export function refreshTokenIn(headers: IncomingHttpHeaders): string | undefined {
  const token = cookieIn(headers, REFRESH_COOKIE);
  if (token !== undefined && headers[CSRF_HEADER.toLowerCase()] !== '1' && headers['sec-fetch-site'] !== 'same-origin')
    throw problem('CSRF_REFUSED');
  return token;
}

/**
 * The `Set-Cookie` lines by which a page forgets the refresh token of a login before, which may be somebody else's;
 * none if it has none.
 */
export const forgottenCookies = (headers: IncomingHttpHeaders, settings: Settings): string[] =>
  cookieIn(headers, REFRESH_COOKIE) === undefined ? [] : [clearedCookie(settings, REFRESH_COOKIE, '/api/portal')];

/** The login of a request's portal token, bearer or cookie; undefined: no valid one. */
export function loginIn(headers: IncomingHttpHeaders, settings: Settings): string | undefined {
  const cookie = cookieIn(headers, PORTAL_COOKIE);
  try {
    if (headers.authorization !== undefined)
      return verifyToken(settings, 'portal', bearerToken(headers.authorization)).sid;
    return cookie === undefined ? undefined : verifyToken(settings, 'portal', unsealed(settings, cookie)).sid;
  } catch (fault) {
    // An invalid token ends nothing: its login is found by the refresh token, or has ended.
    if (fault instanceof Problem) return undefined;
    throw fault;
  }
}

/**
 * The holder of a portal token, and its login; a caregiver’s has the epoch of its issue. `expired`: the token is good
 * for a withdrawn participant alone, and for no more than its route allows.
 */
export type PortalPrincipal = (
  { kind: 'participant'; id: string } | { kind: 'caregiver'; id: string; epoch: number }
) & {
  login?: string | undefined;
  expired?: boolean;
};
export interface PortalSession {
  token: string;
  seconds: number;
  cookie: string;
}

/** A portal token for a participant or caregiver, with the lifetime of an access token, and its `Set-Cookie`. */
export function portalSession(settings: Settings, holder: PortalPrincipal): PortalSession {
  const seconds = Math.max(1, Math.round(settings.ACCESS_TOKEN_MINUTES * 60));
  const token = signToken(settings, 'portal', { id: holder.id, role: holder.kind }, seconds, {
    ...(holder.kind === 'caregiver' && { epoch: holder.epoch }),
    ...(holder.login && { sid: holder.login }),
  });
  return {
    token,
    seconds,
    cookie: `${PORTAL_COOKIE}=${token}.${seal(settings, token)}; ${attributes(settings, '/api', seconds)}`,
  };
}

// Cookie and bearer token are not interchangeable: one that leaks is invalid in the other role.
const seal = (settings: Settings, token: string): string =>
  createHmac('sha256', sessionSecret(settings)).update(token).digest('base64url');

const comesByCookie = (ctx: Context): boolean =>
  ctx.get('authorization') === '' && ctx.cookies.get(PORTAL_COOKIE) !== undefined;

/** Whether the request's token claims to be a portal token. It proves nothing: it only selects the check. */
export function isPortalToken(ctx: Context): boolean {
  if (comesByCookie(ctx)) return true;
  return claimedAudience(ctx.get('authorization')) === 'portal';
}

/**
 * A withdrawal ends the device's login, so its last token can't be renewed. For this long after its expiry it is still
 * read where a withdrawn participant may deliver what was recorded before.
 */
const LATE_SECONDS = 60 * 86_400;

/**
 * The holder of the request's portal token: the bearer, else the cookie.
 * @param late reads an expired bearer too
 * @throws 401 UNAUTHENTICATED or INVALID_TOKEN; 403 CSRF_REFUSED for a change by cookie that may come from another site
 */
export function portalPrincipal(ctx: Context, settings: Settings, late = false): PortalPrincipal {
  if (!comesByCookie(ctx)) {
    const bearer = verifyToken(settings, 'portal', bearerToken(ctx.get('authorization')), late ? LATE_SECONDS : 0);
    const holder = holderOf(bearer);
    if (bearer.exp * 1000 > nowMs()) return holder;
    if (!holder.login) throw problem('INVALID_TOKEN', { headers: challenge('invalid_token') });
    return { ...holder, expired: true };
  }
  const claims = verifyToken(settings, 'portal', unsealed(settings, ctx.cookies.get(PORTAL_COOKIE)!));
  const changes = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  if (changes && ctx.get(CSRF_HEADER) !== '1' && ctx.get('sec-fetch-site') !== 'same-origin')
    throw problem('CSRF_REFUSED');
  return holderOf(claims);
}

// A token from before epochs existed has the first one.
const holderOf = ({ sub, role, epoch, sid: login }: TokenClaims): PortalPrincipal =>
  role === 'caregiver'
    ? { kind: 'caregiver', id: sub, epoch: epoch ?? 0, login }
    : { kind: 'participant', id: sub, login };

function unsealed(settings: Settings, cookie: string): string {
  const at = cookie.lastIndexOf('.');
  const token = cookie.slice(0, Math.max(0, at));
  const given = Buffer.from(cookie.slice(at + 1));
  const expected = Buffer.from(seal(settings, token));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw problem('INVALID_TOKEN');
  return token;
}
