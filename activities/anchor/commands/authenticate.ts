import { isOpenTrigger } from '../../../db/capture/webhook-events.queries.js';
import type { Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import { asCaregiver } from '../../../db/portal/portal.queries.js';
import type { Sender } from '../../../workflows/contract.js';
import type { WorkerPayloads } from '../../../workflows/util/payload-codec.js';
import { provenanceOf, unprovenOf } from '../authorization.js';
import type { Provenance, UnsignedMessages, Via } from '../authorization.js';
import type { AnchorSnapshot } from '../snapshot.js';
import type { CommandReads } from './command-reads.js';
import { SENDER_REQUIRED } from './commands.js';
import type { AnchorCommand } from './commands.js';
import { rejected } from './outcome.js';
import type { CommandOutcome } from './outcome.js';

/** Which messages are accepted. */
export interface AcceptedMessages {
  unsigned: UnsignedMessages;
  /** `sealed`: an unencrypted message is refused. */
  payloads?: WorkerPayloads;
}

/**
 * Validates the message and determines its sender. From here on every audit record of the transaction has the route of
 * the message, also that of its refusal, and the person who is acted for.
 */
export async function authenticate(
  { tx, audit }: WriteTransaction,
  snapshot: AnchorSnapshot,
  { command, lacksDetails, message: known }: CommandReads,
  { unsigned, payloads = 'open' }: AcceptedMessages,
): Promise<{ provenance: Provenance } | { refusal: CommandOutcome }> {
  const malformed = faultOfFields(command.message) ?? faultOfSender(command);
  const { actor_type, caregiver_id } = command.message as Sender;
  if (!malformed && actor_type === 'participant' && caregiver_id) audit.inEach(asCaregiver(caregiver_id));
  const unproven = unprovenOf(command);
  const via = await routeOf(tx, command, unproven.via);
  audit.inEach({ ...unproven, via });
  if (payloads === 'sealed' && command.open === true)
    return { refusal: rejected(403, 'PAYLOAD_NOT_SEALED', 'the payload of the message is not sealed') };
  if (malformed) return { refusal: rejected(422, 'INVALID_MESSAGE', malformed) };
  const claimed = await provenanceOf(command, known, unsigned, snapshot.facts.now);
  const provenance = 'via' in claimed && claimed.via === 'trigger' ? { ...claimed, via } : claimed;
  if ('via' in provenance)
    audit.inEach({ via: provenance.via, ...(provenance.identity && { identity: provenance.identity }) });
  // An authorization is bound to the whole message: without its details, the content is another one.
  if ('code' in provenance && !(lacksDetails && provenance.mismatch === 'content'))
    return { refusal: rejected(403, provenance.code, provenance.detail) };
  if ('code' in provenance || lacksDetails)
    return {
      refusal: rejected(422, 'INVALID_MESSAGE', 'details_id names nothing that is kept: send the message again'),
    };
  return { provenance };
}

/**
 * The route of a message whose id claims that it is a trigger's. The sender of an update chooses its id: it is one only
 * while that trigger is being processed.
 */
async function routeOf(tx: Tx, { id, participant_id }: AnchorCommand, claimed: Via): Promise<Via> {
  if (claimed !== 'trigger') return claimed;
  const event = /\/trigger-([0-9a-f-]{36})(-\d+)?$/i.exec(id)?.[1];
  const isTrigger = event !== undefined && UUID.test(event) && (await isOpenTrigger(tx, event, participant_id));
  return isTrigger ? 'trigger' : 'update';
}

/** The fault of a command without a sender; null: none. A decision's sender is checked with its request. */
function faultOfSender({ kind, message }: AnchorCommand): string | null {
  const { actor_user_id, actor_type } = message as Sender;
  const ofPerson = kind === 'set' || kind === 'override' || kind === 'cancel' || kind === 'override_back';
  return ofPerson && actor_type !== 'participant' && !actor_user_id ? SENDER_REQUIRED : null;
}

/** The fault of a message's fields, in a sentence; null: none. They may be sent by hand, from the CLI. */
function faultOfFields(message: object): string | null {
  for (const [field, value] of Object.entries(message)) {
    if (value === null || value === undefined) continue;
    if (TEXT.includes(field)) {
      if (typeof value !== 'string' || value.length > 4000 || value.includes('\0') || !value.isWellFormed())
        return `${field} must be text of at most 4,000 characters`;
      if (field === 'actor_type' && !ACTOR_TYPES.includes(value))
        return `actor_type must be one of ${ACTOR_TYPES.join(', ')}`;
      if (field === 'actor_user_id' && !UUID.test(value)) return 'actor_user_id must be the id of a user';
      if (field === 'details_id' && !UUID.test(value)) return 'details_id must be an id';
      if (field === 'caregiver_id' && !UUID.test(value)) return 'caregiver_id must be the id of a caregiver';
    } else if (field === 'regenerate_schedule' || field === 'ensure_schedule') {
      if (typeof value !== 'boolean') return `${field} must be true or false`;
    } else if (field === 'expected_version' && !Number.isInteger(value)) {
      return 'expected_version must be a whole number';
    }
  }
  return null;
}

const TEXT = [
  'enrollment_date',
  'new_enrollment_date',
  'reason',
  'actor_user_id',
  'actor_type',
  'caregiver_id',
  'request_id',
  'ip_address',
  'user_agent',
  'preview_hash',
  'decision',
  'approver_user_id',
  'http_request_id',
  'authorization',
  'details_id',
];

const ACTOR_TYPES = ['user', 'participant', 'system', 'workflow'];
