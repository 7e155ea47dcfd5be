import { SecretBox, SecretUnreadable } from '../../db/client/crypto.js';
import { totpPlace } from '../../db/identity/mfa.queries.js';
import type { SecondFactor } from '../../db/identity/mfa.queries.js';
import { encryptionKeyBytes } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { totpStep } from '../http/security/totp.js';
import { problem } from '../http/errors.js';

/** The time step of a valid, unused code of a user's second factor. @throws 503 without an encryption key */
export const stepOf = (settings: Settings, userId: string, factor: SecondFactor, code: string): number | undefined =>
  totpStep(
    secretBox(settings, (box) => box.open(factor.secret_sealed, totpPlace(userId))),
    code,
    factor.last_step,
  );

/** Works with the encryption key of secrets. @throws 503 UNAVAILABLE without one */
export function secretBox<T>(settings: Settings, work: (box: SecretBox) => T): T {
  const key = settings.DATACAPTURE_ENCRYPTION_KEY;
  try {
    return work(new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key)));
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    throw problem('UNAVAILABLE', { detail: fault.message, cause: fault });
  }
}
