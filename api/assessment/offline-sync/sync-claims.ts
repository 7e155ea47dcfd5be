import type { ResponseGiven } from './sync-items.js';
import { isSingle, participantRef } from './references.js';
import type { SessionFacts } from './references.js';
import type { DecidedItem } from './decided-items.js';
import type { Refused, Claim } from './decided-items.js';
import { UUID } from '../../../db/client/uuid.js';

/** Text that can be compared with stored text. */
const STORABLE = /^[^\0\p{Surrogate}]+$/u;
/** The identifying fields of session items, also of those that do not fit their schema. */
export const claimsOf = (sessions: readonly unknown[]): Claim[] =>
  sessions.flatMap((raw, index) => claimOf(raw, index) ?? []);

function claimOf(raw: unknown, index: number): Claim | undefined {
  const { id, studyId, participantId, deviceId } = (raw ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || !STORABLE.test(id)) return undefined;
  const study = typeof studyId === 'string' && UUID.test(studyId) ? studyId.toLowerCase() : null;
  const person =
    study !== null && typeof participantId === 'string' && STORABLE.test(participantId)
      ? participantRef(study, participantId)
      : null;
  return {
    local_id: id,
    device_id: typeof deviceId === 'string' ? deviceId : null,
    study_id: study,
    ref: person,
    nobody: participantId === undefined || participantId === null,
    index,
    outcome: { kind: 'rejected' },
  };
}

/** Stores the outcomes of a call's session items, for the responses sent with them. */
export function noteOutcomes(claims: readonly Claim[], sessions: readonly DecidedItem[]): void {
  const at = new Map(claims.map((claim) => [claim.index, claim]));
  for (const decided of sessions) {
    const claim = at.get(decided.item.index);
    if (!claim) continue;
    const { decision, session } = decided;
    claim.outcome =
      !session || decision.status === 'rejected'
        ? { kind: 'rejected' }
        : decision.status === 'conflict' && decision.write === null
          ? { kind: 'refused', session, decided, same_start: decision.same_start ?? false }
          : { kind: 'taken', session };
  }
}

export function claimsByLocalId(claims: readonly Claim[], names: ReadonlySet<string>): Map<string, Claim[]> {
  const found = new Map<string, Claim[]>();
  for (const claim of claims)
    if (names.has(claim.local_id)) {
      const others = found.get(claim.local_id);
      if (others) others.push(claim);
      else found.set(claim.local_id, [claim]);
    }
  return found;
}

/**
 * Whether a session item with the id of a server session belongs to another person: its results are not that session's.
 */
export const isOfAnother = ({ outcome, ref }: Claim, stored: SessionFacts): boolean =>
  outcome.session
    ? outcome.session.participant_id !== stored.participant_id
    : ref !== null && ref.as_id !== stored.participant_id;

/** Whose a response is that came with these session items, all of one local id. */
export function resultOfClaim(
  claims: readonly Claim[],
  input: ResponseGiven,
  sessionOf: (id: string) => SessionFacts | undefined,
  hasIt: (session: SessionFacts) => boolean,
): SessionFacts | Refused | 'unknown' | 'ambiguous' {
  const named = input.deviceId === null ? claims : claims.filter(({ device_id }) => device_id === input.deviceId);
  const came = named.length > 0 ? named : claims.filter(({ device_id }) => device_id === null);
  const outcomes = came.map(({ outcome }) => outcome);
  // Nearly all: a device sends a session once.
  const [only] = outcomes;
  if (outcomes.length === 1 && only!.kind === 'taken') return sessionOf(only!.session.id) ?? only!.session;
  const taken = [
    ...new Map(
      outcomes.flatMap((one) =>
        one.kind === 'taken' ? [[one.session.id, sessionOf(one.session.id) ?? one.session]] : [],
      ),
    ).values(),
  ];
  const refused = [
    ...new Map(
      outcomes.flatMap((one) => (one.kind === 'refused' ? [[one.decided.offline!.content_hash, one] as const] : [])),
    ).values(),
  ];
  const rejected = outcomes.some(({ kind }) => kind === 'rejected');
  const [session, another] = taken;
  if (session && !another && !rejected) {
    // The same session with other content is still the same session.
    if (refused.every((one) => one.same_start && one.session.id === session.id)) return session;
  }
  const [first, second] = refused;
  if (!session && first && !second && !rejected) {
    const met = sessionOf(first.session.id) ?? first.session;
    return first.same_start && input.content.trials.length > 0 && hasIt(met) ? met : { refused: first.decided };
  }
  if (!session && !first) return 'unknown';
  const having = taken.filter(hasIt);
  const all = taken.length === having.length && refused.length === 0 && !rejected;
  return isSingle(having, input) ?? (all ? session! : 'ambiguous');
}
