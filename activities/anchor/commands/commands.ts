import type { MessageDetails } from '../../../db/participants/message-details.queries.js';
import type {
  CancelProposal,
  Evaluate,
  OverrideBack,
  OverrideDecision,
  RequestOverride,
  Sender,
  SetEnrollmentDate,
} from '../../../workflows/contract.js';

/**
 * A message as the workflow passes it on; `id` makes it idempotent. `open`: its payload was not encrypted; runs of
 * earlier releases do not set it.
 */
export type AnchorCommand = { id: string; participant_id: string; study_id: string; open?: boolean } & (
  | {
      kind: 'resume' | 'withdrawn' | 'remind' | 'expire' | 'sources_changed' | 'day_came' | 'reinstated';
      message: Sender;
    }
  | { kind: 'evaluate'; message: Evaluate }
  | { kind: 'set'; message: SetEnrollmentDate }
  | { kind: 'override'; message: RequestOverride }
  | { kind: 'decide_override'; message: OverrideDecision }
  | { kind: 'cancel'; message: CancelProposal }
  | { kind: 'override_back'; message: OverrideBack }
);

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
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const USER_IDS = ['actor_user_id', 'approver_user_id'];

/**
 * The command with user ids in the database's notation: ids sent by hand may have capitals. The sender of a decision is
 * `actor_user_id` as in all messages, or `approver_user_id`, its former name.
 */
export function normalizeIds<C extends AnchorCommand>(command: C): C {
  const plain = Object.entries(command.message).map(([field, value]: [string, unknown]) => [
    field,
    USER_IDS.includes(field) && typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : value,
  ]);
  const message = Object.fromEntries(plain) as Record<string, unknown>;
  if (command.kind === 'decide_override') message.approver_user_id ??= message.actor_user_id;
  return { ...command, message: message as C['message'] };
}

/** The row with the message's details that the API stored. */
export function detailsIdOf({ message }: AnchorCommand): string | null {
  const { details_id: id } = message as Sender;
  return typeof id === 'string' && UUID.test(id) ? id : null;
}

/** The command with the details of its row. */
export const withDetails = <C extends AnchorCommand>(command: C, details: MessageDetails | null): C =>
  details === null
    ? command
    : {
        ...command,
        message: {
          ...command.message,
          ...Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null)),
        },
      };

export const SENDER_REQUIRED = 'actor_user_id is required: the id of the user who sends the message';

/** The fault of a command without a sender; null: none. A decision's sender is checked with its request. */
export function faultOfSender({ kind, message }: AnchorCommand): string | null {
  const { actor_user_id, actor_type } = message as Sender;
  const ofPerson = kind === 'set' || kind === 'override' || kind === 'cancel' || kind === 'override_back';
  return ofPerson && actor_type !== 'participant' && !actor_user_id ? SENDER_REQUIRED : null;
}

/** The fault of a message's fields, in a sentence; null: none. They may be sent by hand, from the CLI. */
export function validateCommand(message: object): string | null {
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
