import { generateSecret, generateURI, verifySync } from 'otplib';
import { nowMs } from '../../../db/client/clock.js';

const ISSUER = 'Research Assessment Platform';
/** One step before and after: clocks differ, and typing a code takes a moment (RFC 6238, 5.2). */
const TOLERANCE_SECONDS = 30;

/** A new shared secret, 160 bits, in base32 for authenticators. */
export const newTotpSecret = (): string => generateSecret();
/** The URL that an authenticator reads from a QR code. */
export const otpauthUrl = (secret: string, account: string): string =>
  generateURI({ issuer: ISSUER, label: account, secret });

/**
 * The time step of a code of six digits.
 * @param after the last used step: it and earlier ones are invalid (RFC 6238, 5.2: a code is valid once)
 * @returns undefined when the code matches none of these steps
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
