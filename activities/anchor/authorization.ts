import { digestOf, readAuthorization } from '../../db/anchor/message-authorization.js';
import type { Authorization, AuthorizationFault } from '../../db/anchor/message-authorization.js';
import type { KnownMessage } from '../../db/anchor/anchor-commands.queries.js';
import { contentOf, personOf } from '../../workflows/domain/anchor/message-content.js';
import type { MessageKind, Person } from '../../workflows/domain/anchor/message-content.js';
import type { AnchorCommand } from './commands/commands.js';

/** Whether a message that claims a person must prove it (UNSIGNED_MESSAGES). */
export type UnsignedMessages = 'accept' | 'refuse';

/** The route of a message. */
export type Via = 'rest' | 'page' | 'signal' | 'update' | 'trigger' | 'workflow';

/** The provenance of a message, as recorded in the audit records of its effects. */
export interface Provenance {
  via: Via;
  /** Not set: the message claims no person. */
  identity?: 'verified' | 'claimed';
  /** The message's authorization, if it is valid. */
  authorization_id?: string;
}
export interface AuthorizationRefusal {
  code: string;
  detail: string;
  /** The property in which the authorization differs from the message. */
  mismatch?: Mismatch;
}
type Mismatch = 'participant' | 'study' | 'kind of message' | 'person' | 'content';

/** Messages that only the workflow itself sends; they claim no person. */
const OWN = ['resume', 'remind', 'expire', 'day_came'];

/**
 * Determines the sender of a message, and whether it is proved: by an unexpired, unused authorization that the API
 * signed for this person, participant, kind and content.
 * @param known the key that the authorization claims, and whether it was used
 * @param now the database's time, ISO 8601
 */
export async function provenanceOf(
  command: AnchorCommand,
  known: Pick<KnownMessage, 'public_key' | 'is_used'>,
  unsigned: UnsignedMessages,
  now: string,
): Promise<Provenance | AuthorizationRefusal> {
  const person = claimedPerson(command);
  const via = wayOf(command);
  if (person === null) return { via };
  const { authorization } = command.message as { authorization?: string | null };
  if (authorization === undefined || authorization === null)
    return unsigned === 'accept'
      ? { via, identity: 'claimed' }
      : refusal('REQUIRED', 'a message in the name of a person needs an authorization that the API has signed');
  const stated = await readAuthorization(authorization, known.public_key, now);
  if (typeof stated === 'string') return refusal(stated, FAULTS[stated]);
  const mismatch = mismatchOf(stated, command, person);
  if (mismatch !== null) return { ...refusal('MISMATCH', `the authorization is for another ${mismatch}`), mismatch };
  if (known.is_used) return refusal('USED', 'the authorization was used before');
  return { via: stated.via ?? via, identity: 'verified', authorization_id: stated.jti };
}

/** The person in whose name a message is; null: no person. */
const claimedPerson = ({ kind, message }: AnchorCommand): Person | null =>
  OWN.includes(kind) ? null : personOf(kind, message);

/** The provenance of a message of which nothing is proved: of a refused one, too. */
export const unprovenOf = (command: AnchorCommand): Provenance => ({
  via: wayOf(command),
  ...(claimedPerson(command) !== null && { identity: 'claimed' }),
});

const refusal = (what: string, detail: string): AuthorizationRefusal => ({ code: `AUTHORIZATION_${what}`, detail });

const FAULTS: Readonly<Record<AuthorizationFault, string>> = {
  INVALID: 'the authorization is not one that the API has signed',
  UNKNOWN_KEY: 'the authorization is signed with a key that is not known, or not any more',
  EXPIRED: 'the authorization has run out',
};

function mismatchOf(stated: Authorization, command: AnchorCommand, person: Person): Mismatch | null {
  if (stated.participant_id !== command.participant_id) return 'participant';
  if (stated.study_id !== command.study_id) return 'study';
  if (stated.kind !== command.kind) return 'kind of message';
  if (!isSame(stated.person as Person, person)) return 'person';
  const content = contentOf(command.kind as MessageKind, command.message);
  return stated.digest === digestOf(content) ? null : 'content';
}

const isSame = (a: Person, b: Person): boolean =>
  'user_id' in a
    ? 'user_id' in b && a.user_id === b.user_id
    : 'participant' in b && (a.caregiver_id ?? null) === (b.caregiver_id ?? null);

/** An update's id has the participant's id before the caller's, who chooses it; a signal's belongs to the run. */
function wayOf({ id, kind, participant_id }: AnchorCommand): Via {
  if (OWN.includes(kind)) return 'workflow';
  if (!id.startsWith(`${participant_id}/`)) return 'signal';
  return id.startsWith(`${participant_id}/trigger-`) ? 'trigger' : 'update';
}
