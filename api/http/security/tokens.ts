import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { nowMs } from '../../../db/client/clock.js';
import { secretKey } from '../../../db/audit/hashing.js';
import { problem } from '../errors.js';
import type { Settings } from '../../../settings.js';
import { LOWERCASE_UUID } from '../../../db/client/uuid.js';

const ISSUER = 'research-assessment-platform';
/** The audience of a token; a token is invalid for any other. */
export type Audience = 'api' | 'portal' | 'mfa' | 'v1' | 'events' | 'console';

export interface TokenClaims {
  sub: string;
  role: string;
  jti: string;
  exp: number;
  /**
   * For an access token: its login, and the epoch of the user's logins at its issue; for a caregiver's token, its
   * epoch.
   */
  sid?: string;
  epoch?: number;
  /** For an event stream ticket: the study of the events. */
  study?: string;
  /** For the console's cookie: the start of its login, in seconds since 1970. */
  since?: number;
}
/** The claims of a token besides its subject. */
export interface TokenDetails {
  jti?: string;
  sid?: string | undefined;
  epoch?: number | undefined;
  study?: string;
  since?: number;
}

/** The signing secret. @throws Error in one sentence when it is not set */
export function jwtSecret(settings: Settings): string {
  if (!settings.JWT_SECRET)
    throw new Error('JWT_SECRET is not set: give at least 32 random characters ("npm start" makes one).');
  return settings.JWT_SECRET;
}

/**
 * The secret as a key object. Given as text, the library would first try to parse it as a public key, for every token:
 * that failure with its stack was a sixth of the processor time of a request that lists participants.
 */
const jwtKey = (settings: Settings): KeyObject => secretKey(jwtSecret(settings));

/** Signs a token for `audience`, HS256, with iss, aud, sub, role, jti and exp. */
export function signToken(
  settings: Settings,
  audience: Audience,
  subject: { id: string; role: string },
  seconds: number,
  details: TokenDetails = {},
): string {
  const { jti = randomUUID(), ...more } = details;
  return jwt.sign({ role: subject.role, iat: Math.floor(nowMs() / 1000), ...more }, jwtKey(settings), {
    algorithm: 'HS256',
    issuer: ISSUER,
    audience,
    subject: subject.id,
    jwtid: jti,
    expiresIn: Math.max(1, Math.round(seconds)),
  });
}

const REMEMBERED = 1_000;
const verified = new Map<string, TokenClaims>();

/**
 * Verifies a token and returns its claims. A valid signature stays valid: it is checked once, the expiry every time
 * (the holder's rights are read from the database at each request).
 * @param graceSeconds how long an expired token is still read; its caller must see to what it may do then
 * @throws 401 INVALID_TOKEN: another algorithm, issuer or audience, expired, forged, or not a token at all
 */
export function verifyToken(settings: Settings, audience: Audience, token: string, graceSeconds = 0): TokenClaims {
  const key = `${audience} ${jwtSecret(settings)} ${token}`;
  const known = verified.get(key);
  if (known && (known.exp + graceSeconds) * 1000 > nowMs()) return known;
  const fresh = verify(settings, audience, token, graceSeconds);
  if (verified.size >= REMEMBERED) verified.clear();
  verified.set(key, fresh);
  return fresh;
}

function verify(settings: Settings, audience: Audience, token: string, graceSeconds: number): TokenClaims {
  let claims: jwt.JwtPayload | string;
  try {
    claims = jwt.verify(token, jwtKey(settings), {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience,
      clockTimestamp: Math.floor(nowMs() / 1000),
      clockTolerance: graceSeconds,
    });
  } catch (fault) {
    // For a header that says JWT with a payload that is not JSON, the library throws a SyntaxError.
    if (fault instanceof jwt.JsonWebTokenError || fault instanceof SyntaxError)
      throw problem('INVALID_TOKEN', { cause: fault, headers: challenge('invalid_token') });
    throw fault;
  }
  if (
    typeof claims === 'string' ||
    !LOWERCASE_UUID.test(claims.sub ?? '') ||
    typeof claims.role !== 'string' ||
    !claims.jti ||
    !claims.exp
  ) {
    throw problem('INVALID_TOKEN', { headers: challenge('invalid_token') });
  }
  const { sid, epoch, study, since } = claims as Record<string, unknown>;
  return {
    sub: claims.sub!,
    role: claims.role,
    jti: claims.jti,
    exp: claims.exp,
    ...(typeof sid === 'string' && { sid }),
    ...(typeof epoch === 'number' && { epoch }),
    ...(typeof study === 'string' && { study }),
    ...(typeof since === 'number' && { since }),
  };
}

/** The token of an Authorization header. @throws 401 UNAUTHENTICATED when there is none */
export function bearerToken(authorization: string | undefined): string {
  const token = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization ?? '')?.[1];
  if (!token) throw problem('UNAUTHENTICATED', { headers: challenge() });
  return token;
}

export const challenge = (error?: string) => ({ 'WWW-Authenticate': error ? `Bearer error="${error}"` : 'Bearer' });

const claims = new Map<string, string | undefined>();

/** The audience that the token of an Authorization header claims. It proves nothing: it only selects the check. */
export function claimedAudience(authorization: string): string | undefined {
  if (claims.has(authorization)) return claims.get(authorization);
  if (claims.size >= REMEMBERED) claims.clear();
  const audience = audienceOf(authorization);
  claims.set(authorization, audience);
  return audience;
}

function audienceOf(authorization: string): string | undefined {
  const payload = authorization.split('.')[1] ?? '';
  try {
    const audience = (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { aud?: unknown } | null)?.aud;
    return typeof audience === 'string' ? audience : undefined;
  } catch (fault) {
    // Not a token: the following check refuses it.
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}

/** A secret that is only stored as its hash: refresh tokens. */
export const opaqueToken = (): string => randomBytes(32).toString('base64url');
export const sha256 = (value: string): Buffer => createHash('sha256').update(value).digest();
