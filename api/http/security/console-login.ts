import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from 'koa';
import { nowMs } from '../../../db/client/clock.js';
import type { Settings } from '../../../settings.js';
import { isHttpsOutside } from '../../public-url.js';
import { Problem, problem } from '../errors.js';
import { jwtSecret, signToken, verifyToken } from './tokens.js';
import type { TokenClaims } from './tokens.js';

/** The cookie of a console login. It is sent to /console only, and only the console's routes accept it. */
export const CONSOLE_COOKIE = 'console_login';
/** The cookie of a browser without a login: its form tokens are bound to it. */
export const VISIT_COOKIE = 'console_visit';
const PATH = '/console';
/** Even an active login ends after a working day. */
const MAX_HOURS = 12;
/** A cookie of this age is renewed at the next request. */
const RENEWED_AFTER_SECONDS = 30;

const attributes = (settings: Settings, seconds: number | undefined): string =>
  `Path=${PATH}; ${seconds === undefined ? '' : `Max-Age=${seconds}; `}HttpOnly; ` +
  `SameSite=Lax${isHttpsOutside(settings) ? '; Secure' : ''}`;

/** A `Set-Cookie` line for the console. Without `seconds` the cookie lasts as long as the browser is open. */
export const consoleCookie = (settings: Settings, name: string, value: string, seconds?: number): string =>
  `${name}=${value}; ${attributes(settings, seconds)}`;

/** The value of a cookie of the request; undefined: there is none. */
export const cookieOf = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  (headers.cookie ?? '')
    .split(';')
    .map((one) => one.trim())
    .find((one) => one.startsWith(`${name}=`))
    ?.slice(name.length + 1);

export const idleSeconds = ({ CONSOLE_IDLE_MINUTES }: Pick<Settings, 'CONSOLE_IDLE_MINUTES'>): number =>
  Math.max(1, Math.round(CONSOLE_IDLE_MINUTES * 60));

interface Login {
  userId: string;
  role: string;
  /** The refresh token family of the login: ending it ends the cookie, at its next request. */
  sid: string;
  epoch: number | undefined;
  /** In seconds since 1970. */
  since?: number | undefined;
}

/** The `Set-Cookie` of a login, valid until CONSOLE_IDLE_MINUTES without a request. */
export function loginCookie(settings: Settings, { userId, role, sid, epoch, since }: Login): string {
  const now = Math.floor(nowMs() / 1000);
  const began = since ?? now;
  const seconds = Math.max(1, Math.min(idleSeconds(settings), began + MAX_HOURS * 3600 - now));
  const token = signToken(settings, 'console', { id: userId, role }, seconds, { sid, epoch, since: began });
  return consoleCookie(settings, CONSOLE_COOKIE, token);
}

/** The `Set-Cookie` that removes a login's cookie. */
export const clearedLogin = (settings: Settings): string => consoleCookie(settings, CONSOLE_COOKIE, '', 0);

/** The login of the request's cookie, on any route. @throws 401 */
function loginOf(headers: IncomingHttpHeaders, settings: Settings): TokenClaims {
  const token = cookieOf(headers, CONSOLE_COOKIE);
  if (token === undefined || token === '') throw problem('UNAUTHENTICATED');
  return verifyToken(settings, 'console', token);
}

/** The login of the request's cookie, for pages without required login; undefined: no valid one. */
export function loginIdOf(headers: IncomingHttpHeaders, settings: Settings): string | undefined {
  try {
    return loginOf(headers, settings).sid;
  } catch (fault) {
    if (fault instanceof Problem) return undefined;
    throw fault;
  }
}

/**
 * The user of the request's cookie, and the `Set-Cookie` line that extends the login, once it is worth it.
 * @throws 401 UNAUTHENTICATED or INVALID_TOKEN
 */
export function consoleUser(headers: IncomingHttpHeaders, settings: Settings) {
  const { sub, role, jti, sid, epoch, exp, since } = loginOf(headers, settings);
  const left = exp - Math.floor(nowMs() / 1000);
  const isWorthIt = sid !== undefined && left < idleSeconds(settings) - RENEWED_AFTER_SECONDS;
  return {
    principal: {
      kind: 'user' as const,
      id: sub,
      userId: sub,
      epoch,
      credential: { audience: 'api' as const, jti, sid },
    },
    extended: isWorthIt ? loginCookie(settings, { userId: sub, role, sid, epoch, since }) : undefined,
  };
}

/**
 * The login of the request's cookie. A user's request extends it.
 * @throws 401 UNAUTHENTICATED or INVALID_TOKEN
 */
export function consolePrincipal(ctx: Context, settings: Settings, use: 'active' | 'background') {
  const { principal, extended } = consoleUser(ctx.headers, settings);
  if (use === 'active' && extended !== undefined) ctx.append('Set-Cookie', extended);
  return principal;
}

/** A new value for VISIT_COOKIE. */
export const newVisit = (): string => randomBytes(18).toString('base64url');

const TOKEN_BYTES = 32;
const boundToken = (settings: Settings, boundTo: string): Buffer =>
  createHmac('sha256', jwtSecret(settings)).update(`console-form ${boundTo}`).digest();
const xor = (one: Buffer, other: Buffer): Buffer => Buffer.from(one.map((byte, index) => byte ^ other[index]!));

/**
 * The token of a form: bound to the login, or to the visit of a browser without one. It is masked again each time,
 * since the length of a compressed page could reveal a secret that is in each of them.
 */
export function formToken(settings: Settings, boundTo: string): string {
  const mask = randomBytes(TOKEN_BYTES);
  return Buffer.concat([mask, xor(boundToken(settings, boundTo), mask)]).toString('base64url');
}

/**
 * @param boundTo the token may be bound to any of these
 * @throws 403 CSRF_REFUSED when the token is missing or wrong
 */
export function requireFormToken(settings: Settings, boundTo: (string | undefined)[], token: string | null): void {
  const given = Buffer.from(token ?? '', 'base64url');
  const fits =
    given.length === 2 * TOKEN_BYTES &&
    boundTo.some(
      (one) =>
        one !== undefined &&
        timingSafeEqual(xor(given.subarray(TOKEN_BYTES), given.subarray(0, TOKEN_BYTES)), boundToken(settings, one)),
    );
  if (!fits) throw problem('CSRF_REFUSED', { detail: 'The form was not sent by this page.' });
}
