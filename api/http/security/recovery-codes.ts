import { randomBytes } from 'node:crypto';
import { sha256 } from './tokens.js';

const HOW_MANY = 10;
/** Without letters that are read as digits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Codes of about 79 bits, to be written down: too many to try, so that a plain hash keeps them. */
export const newRecoveryCodes = (): string[] => Array.from({ length: HOW_MANY }, () => groups(characters(16)));
/** What is stored of a code; case, blanks and dashes do not count. */
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
