import type { Whose } from '../../../db/portal/portal-logins.queries.js';
import { staff, staffOrParticipant } from '../../http/access.js';
import type { Actor, ParticipantCaller } from '../../http/access.js';
import { problem } from '../../http/errors.js';

/**
 * Callers that start sessions and sync: staff who work with participants, and the participant itself by its portal
 * token.
 */
export const sessionCallers = staffOrParticipant(staff.participants);
/** Whether a user starts sessions and syncs: nobody else sees the ids of active ones. */
export const mayWriteSessions = ({ role }: Pick<Actor, 'role'>): boolean => sessionCallers.roles.includes(role);

export interface SessionCaller {
  /** For the audit record; null: not a user. */
  userId: string | null;
  /** The participant that the caller is; null: staff, who act for all visible participants. */
  participantId: string | null;
  /** The participant has withdrawn: earlier recordings are accepted for a while. */
  withdrawn: boolean;
  /** The login of its token, which has expired, and whose it is: only for a withdrawn participant. */
  expiredLogin?: { id: string; whose: Whose } | undefined;
}
export const callerOf = (actor: Actor | ParticipantCaller): SessionCaller =>
  actor.role === 'participant'
    ? {
        userId: null,
        participantId: actor.id,
        withdrawn: actor.status === 'withdrawn',
        expiredLogin:
          actor.expiredLogin === undefined
            ? undefined
            : {
                id: actor.expiredLogin,
                whose: actor.caregiver ? { caregiver_id: actor.caregiver.id } : { participant_id: actor.id },
              },
      }
    : { userId: actor.id, participantId: null, withdrawn: false };

/** A participant's study is implied: it need not be named beside a code. */
export const studyOf = (actor: Actor | ParticipantCaller, named: string | undefined): string | undefined =>
  actor.role === 'participant' ? actor.study_id : named;

/** @throws 404 a participant acts for itself only, and learns nothing about others */
export function requireOwn(caller: SessionCaller, participantId: string): void {
  if (caller.participantId !== null && caller.participantId !== participantId)
    throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
}
