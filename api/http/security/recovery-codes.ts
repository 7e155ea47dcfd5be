import { randomBytes } from 'node:crypto';
import { sha256 } from './tokens.js';

const HOW_MANY = 10;
/** Without letters that resemble digits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Codes of about 79 bits, to be written down: too many to guess, so a plain hash protects them. */
export const newRecoveryCodes = (): string[] => Array.from({ length: HOW_MANY }, () => groups(characters(16)));
/** The stored hash of a code; case, blanks and dashes are ignored. */
export const recoveryHash = (code: string): Buffer => sha256(`recovery ${code.toLowerCase().replaceAll(/[\s-]/g, '')}`);

function characters(count: number): string {
  let text = '';
  while (text.length < count) {
    // Bytes past the last whole run of the alphabet would favour its first letters.
    for (const byte of randomBytes(count))
      if (byte < 248 && text.length < count) text += ALPHABET[byte % ALPHABET.length];
  }
  return text;
}
const groups = (text: string): string => text.replaceAll(/(.{4})(?=.)/g, '$1-');
