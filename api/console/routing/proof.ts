import type { Problem } from '../../http/errors.js';
import type { Credential } from '../../http/request-context.js';
import type { ReauthenticationProof } from '../../identity/reauthentication.service.js';
import type { Words } from '../words/words.js';

/** A proof of identity as typed into one field: six digits are a code, anything else is a password. */
export function proofOf(text: string | null, credential: Credential | undefined): ReauthenticationProof | undefined {
  if (!text) return undefined;
  const login = credential?.sid;
  return /^[0-9]{6}$/.test(text) ? { code: text, login } : { password: text, login };
}

/** The error of the field, in words; undefined: the fault is another one. */
export function proofErrorOf({ approval }: Words, { code }: Problem): string | undefined {
  if (code === 'REAUTHENTICATION_REQUIRED') return approval.proofNeeded;
  return code === 'REAUTHENTICATION_FAILED' ? approval.proofWrong : undefined;
}
