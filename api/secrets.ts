import { SecretBox, SecretUnreadable } from '../db/client/crypto.js';
import { encryptionKeyBytes } from '../settings.js';
import { problem } from './http/errors.js';
import type { Dependencies } from './dependencies.js';

/**
 * Encrypts a secret for storing, bound to its place.
 * @throws 503 UNAVAILABLE without a key (DATACAPTURE_ENCRYPTION_KEY)
 */
export function seal(
  { settings: { DATACAPTURE_ENCRYPTION_KEY: key } }: Pick<Dependencies, 'settings'>,
  plain: string,
  place: string,
): string {
  try {
    return new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key)).seal(plain, place);
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    throw problem('UNAVAILABLE', { detail: fault.message, cause: fault });
  }
}

/** Decrypts a sealed secret; undefined if it was sealed elsewhere, or changed. */
export function unseal(
  { settings: { DATACAPTURE_ENCRYPTION_KEY: key } }: Pick<Dependencies, 'settings'>,
  sealed: string,
  place: string,
): string | undefined {
  try {
    return new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key)).open(sealed, place);
  } catch (fault) {
    if (fault instanceof SecretUnreadable) return undefined;
    throw fault;
  }
}
