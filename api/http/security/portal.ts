import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from 'koa';
import type { Settings } from '../../../settings.js';
import { Problem, problem } from '../errors.js';
import { bearer, claimedAudience, signToken, verifyToken } from './tokens.js';
import type { TokenClaims } from './tokens.js';

/** Of the portal's session: for pages, beside the token that other clients send as bearer. */
export const PORTAL_COOKIE = 'portal_session';
/** A page's refresh token: sent where it is exchanged or given up, and nowhere else. */
export const REFRESH_COOKIE = 'portal_refresh';
/** A page of the service itself can send this header; a form or a page of another site cannot. */
export const CSRF_HEADER = 'X-Portal-CSRF';

/** The secret of links and cookies. @throws Error in one sentence when it is not set */
export function sessionSecret(settings: Settings): string {
  if (!settings.SESSION_SECRET)
    throw new Error('SESSION_SECRET is not set: give at least 32 random characters ("npm start" makes one).');
  return settings.SESSION_SECRET;
}

const attributes = (settings: Settings, path: string, seconds: number): string =>
  `Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${settings.PUBLIC_URL?.startsWith('https:') ? '; Secure' : ''}`;

/** The `Set-Cookie` lines that take the portal's cookies back. */
export const clearedCookies = (settings: Settings): string[] => [
  `${PORTAL_COOKIE}=; ${attributes(settings, '/api', 0)}`,
  `${REFRESH_COOKIE}=; ${attributes(settings, '/api/portal', 0)}`,
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
 * The refresh token of a page's cookie; undefined: there is none.
 * @throws 403 CSRF_REFUSED where the request may come from another site
 */
export function refreshTokenIn(headers: IncomingHttpHeaders): string | undefined {
  const token = cookieIn(headers, REFRESH_COOKIE);
  if (token !== undefined && headers[CSRF_HEADER.toLowerCase()] !== '1' && headers['sec-fetch-site'] !== 'same-origin')
    throw problem('CSRF_REFUSED');
  return token;
}

/** The login of a request's portal token, bearer or cookie; undefined: it has none that is good. */
export function loginIn(headers: IncomingHttpHeaders, settings: Settings): string | undefined {
  const cookie = cookieIn(headers, PORTAL_COOKIE);
  try {
    if (headers.authorization !== undefined) return verifyToken(settings, 'portal', bearer(headers.authorization)).sid;
    return cookie === undefined ? undefined : verifyToken(settings, 'portal', unsealed(settings, cookie)).sid;
  } catch (fault) {
    // What is no good any more ends nothing: its login is found by the refresh token, or has ended.
    if (fault instanceof Problem) return undefined;
    throw fault;
  }
}

/**
 * Whose a portal token is, and the login that it came from; a caregiver’s bears the epoch in which it was given.
 */
export type PortalPrincipal = (
  { kind: 'participant'; id: string } | { kind: 'caregiver'; id: string; epoch: number }
) & {
  login?: string | undefined;
};
export interface PortalSession {
  token: string;
  seconds: number;
  cookie: string;
}

/**
 * A portal token for a participant or caregiver, as long as an access token lives, and the `Set-Cookie` that carries
 * it.
 */
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

// A cookie is no bearer token and the other way round: what leaks of one way is no good on the other.
const seal = (settings: Settings, token: string): string =>
  createHmac('sha256', sessionSecret(settings)).update(token).digest('base64url');

const comesByCookie = (ctx: Context): boolean =>
  ctx.get('authorization') === '' && ctx.cookies.get(PORTAL_COOKIE) !== undefined;

/**
 * Whether the request's token says that it is one of the portal. It proves nothing: only as what the token is checked.
 */
export function isPortalToken(ctx: Context): boolean {
  if (comesByCookie(ctx)) return true;
  return claimedAudience(ctx.get('authorization')) === 'portal';
}

/**
 * Whose the request's portal token is: the bearer, else the cookie.
 * @throws 401 UNAUTHENTICATED or INVALID_TOKEN; 403 CSRF_REFUSED for a change by cookie that may come from another site
 */
export function portalPrincipal(ctx: Context, settings: Settings): PortalPrincipal {
  if (!comesByCookie(ctx)) return holderOf(verifyToken(settings, 'portal', bearer(ctx.get('authorization'))));
  const claims = verifyToken(settings, 'portal', unsealed(settings, ctx.cookies.get(PORTAL_COOKIE)!));
  const changes = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  if (changes && ctx.get(CSRF_HEADER) !== '1' && ctx.get('sec-fetch-site') !== 'same-origin')
    throw problem('CSRF_REFUSED');
  return holderOf(claims);
}

// One that was given before there were epochs is of the first.
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
