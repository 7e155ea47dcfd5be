import { createHmac, timingSafeEqual } from 'node:crypto';
import { secretKey } from '../audit/hashing.js';

/** The purpose of a link; a signature for one is invalid for another. */
export type Purpose = 'unsubscribe' | 'delivery-report' | 'calendar-feed';

const signature = (secret: string, purpose: Purpose, subject: string): string =>
  createHmac('sha256', secretKey(secret)).update(`${purpose}:${subject}`).digest('base64url');

/**
 * A token that contains `subject` and proves that this service issued it. Nothing is stored; it is valid as long as the
 * secret.
 */
export const signedToken = (secret: string, purpose: Purpose, subject: string): string =>
  `${subject}.${signature(secret, purpose, subject)}`;

/** The subject of a token; undefined: the token is invalid. */
export function subjectOfToken(secret: string, purpose: Purpose, token: string): string | undefined {
  const at = token.lastIndexOf('.');
  const subject = token.slice(0, Math.max(at, 0));
  const given = Buffer.from(token.slice(at + 1));
  const expected = Buffer.from(signature(secret, purpose, subject));
  return given.length === expected.length && timingSafeEqual(given, expected) ? subject : undefined;
}
