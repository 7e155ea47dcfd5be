import { generateSecret, generateURI, verifySync } from 'otplib';
import { nowMs } from '../../../db/client/clock.js';

const ISSUER = 'Research Assessment Platform';
/** One step before and after: clocks differ, and a code takes a moment to type (RFC 6238, 5.2). */
const TOLERANCE_SECONDS = 30;

/** A new shared secret, 160 bits, in base32 as authenticators take it. */
export const newTotpSecret = (): string => generateSecret();
/** What an authenticator reads from a QR code. */
export const otpauthUrl = (secret: string, account: string): string =>
  generateURI({ issuer: ISSUER, label: account, secret });

/**
 * The time step that a code of six digits is for.
 * @param after the last step that was taken: it and those before are good no more (RFC 6238, 5.2: a code is good once)
 * @returns undefined when the code is none of these steps
 */
export function totpStep(secret: string, code: string, after: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const result = verifySync({
    secret,
    token: code,
    epoch: Math.floor(nowMs() / 1000),
    epochTolerance: TOLERANCE_SECONDS,
  });
  return result.valid && 'timeStep' in result && result.timeStep > after ? result.timeStep : undefined;
}
