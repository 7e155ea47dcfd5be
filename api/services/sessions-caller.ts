import { staff } from '../access.js';
import type { Actor } from '../access.js';
import { problem } from '../errors.js';

/** Who starts sessions and syncs: staff who work with participants. The participant's own token joins here and in `callerOf`. */
export const sessionCallers = staff.participants;

export interface SessionCaller {
  /** For the record of what was done; null: not a user. */
  userId: string | null;
  /** The participant that the caller is; null: staff, who act for everybody that they see. */
  participantId: string | null;
}
export const callerOf = (actor: Actor): SessionCaller => ({ userId: actor.id, participantId: null });

/** @throws 404 a participant acts for nobody else, and does not learn of others */
export function requireOwn(caller: SessionCaller, participantId: string): void {
  if (caller.participantId !== null && caller.participantId !== participantId) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
}
