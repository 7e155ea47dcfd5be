import { randomUUID } from 'node:crypto';
import { insertChallenge } from '../../db/identity/mfa.queries.js';
import type { ChallengePurpose } from '../../db/identity/mfa.queries.js';
import type { Settings } from '../../settings.js';
import { signToken } from '../http/security/tokens.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';

/** Enough time to find the telephone and install an authenticator. */
const SECONDS: Record<ChallengePurpose, number> = { login: 5 * 60, setup: 15 * 60 };

/** Whether a role requires a second factor (MFA_REQUIRED_ROLES). */
export const mfaRequired = (settings: Settings, role: string): boolean =>
  (settings.MFA_REQUIRED_ROLES ?? (settings.production ? ['admin'] : [])).includes(role);

/** An mfa token: the password was right, and the token is valid for this one purpose, once. */
export async function challenge(
  { settings }: Dependencies,
  tx: Tx,
  user: { id: string; role: string },
  purpose: ChallengePurpose,
): Promise<string> {
  const id = randomUUID();
  await insertChallenge(tx, { id, userId: user.id, purpose, seconds: SECONDS[purpose] });
  return signToken(settings, 'mfa', user, SECONDS[purpose], { jti: id });
}
