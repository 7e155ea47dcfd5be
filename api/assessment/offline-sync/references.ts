import type { ParticipantRef, SyncParticipantRow } from '../../../db/assessment/offline.queries.js';
import type { SessionTimes } from '../../../workflows/domain/assessment/times.js';
import type { ResponseGiven } from './sync-items.js';
import { UUID } from '../../../db/client/uuid.js';

export interface SessionFacts {
  id: string;
  study_id: string;
  participant_id: string;
  battery_id: number | null;
  battery_version: number | null;
  started_ms: number;
  /** Its participant's identity was erased: nothing more is recorded of it. */
  erased?: boolean;
  /** The device that it is on, and the one on which it began, if that is another. */
  device_id?: string | null;
  started_device_id?: string | null;
  /** When it was ended online; null or absent: it is active, or its device sends the end. */
  ended_ms?: number | null;
}
/** Start and end in milliseconds since 1970. */
export const timesOf = (session: { started_at: string; completed_at: string | null }): SessionTimes => ({
  started_ms: Date.parse(session.started_at),
  completed_ms: session.completed_at === null ? null : Date.parse(session.completed_at),
});

/** A participant by id or code. */
export const participantRef = (studyId: string, ref: string): ParticipantRef => ({
  study_id: studyId.toLowerCase(),
  ref,
  as_id: UUID.test(ref) ? ref.toLowerCase() : null,
});

/** The participant of a reference, among those found: by id first, then by code. */
export const resolveParticipant = (
  people: readonly SyncParticipantRow[],
  { study_id, ref, as_id }: ParticipantRef,
): SyncParticipantRow | undefined => {
  const own = people.filter((person) => person.study_id === study_id);
  return own.find((person) => person.id === as_id) ?? own.find((person) => person.participant_code === ref);
};

/**
 * The only session that already has a response. A summary without trials has no distinctive times and may match
 * another's by chance.
 */
export const isSingle = <T extends SessionFacts>(having: readonly T[], input: ResponseGiven): T | undefined =>
  having.length === 1 && input.content.trials.length > 0 ? having[0] : undefined;
