import { UUID } from '../../../db/client/uuid.js';
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

export const SENDER_REQUIRED = 'actor_user_id is required: the id of the user who sends the message';
