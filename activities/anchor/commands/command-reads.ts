import { lockAnchorStatement } from '../../../db/anchor/anchors.queries.js';
import { knownMessageStatement } from '../../../db/anchor/anchor-commands.queries.js';
import type { KnownMessage } from '../../../db/anchor/anchor-commands.queries.js';
import { claimedAuthorization } from '../../../db/anchor/message-authorization.js';
import type { Statement } from '../../../db/client/one-trip.js';
import type { Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';
import { permissionsStatement } from '../../../db/identity/user-permissions.queries.js';
import type { UserPermissions } from '../../../db/identity/user-permissions.queries.js';
import { factsStatement } from '../../../db/participants/facts.queries.js';
import type { FactRow } from '../../../db/participants/facts.queries.js';
import type { MessageDetails } from '../../../db/participants/message-details.queries.js';
import {
  readScheduleInputs,
  scheduleInputsOf,
  scheduleInputsStatement,
} from '../../../db/scheduling/schedules.queries.js';
import type { Sender } from '../../../workflows/contract.js';
import type { ScheduleInputs } from '../../../workflows/domain/anchor/regeneration.js';
import { snapshotOf } from '../snapshot.js';
import type { AnchorSnapshot } from '../snapshot.js';
import type { AnchorCommand } from './commands.js';

/** A command and the data behind its decision, read after the anchor was locked. */
export interface CommandReads {
  /** The command, with the details that the API stored in a row. */
  command: AnchorCommand;
  /** The message names a row of details that is not there. */
  lacksDetails: boolean;
  /** What the database knows of the message: its first answer, its authorization and the key behind it. */
  message: KnownMessage;
  /** Undefined: the participant does not exist. */
  snapshot: AnchorSnapshot | undefined;
  /** The role of the user whose permission the command needs, in the participant's study and site; null: none. */
  sender: UserPermissions | null;
  /** Reads the inputs of the next schedule version, unless they came with the rest. */
  scheduleInputs: () => Promise<ScheduleInputs>;
}

/** Commands that usually create a schedule; the others read its inputs on demand. */
const MAKES_SCHEDULE: readonly AnchorCommand['kind'][] = [
  'set',
  'override',
  'decide_override',
  'override_back',
  'reinstated',
];

/**
 * The statements that lock a command's anchor and read the data for its decision. They share one round trip with the
 * start of the transaction: each round trip is a tenth of a decision's processor time. The lock comes first, and every
 * later statement sees everything committed before it was granted.
 */
export function commandStatements(command: AnchorCommand): Statement[] {
  const { participant_id, study_id } = command;
  const { authorization } = command.message as { authorization?: unknown };
  const senderId = senderIdOf(command);
  const detailsId = detailsIdOf(command);
  const claimed = typeof authorization === 'string' ? claimedAuthorization(authorization) : null;
  return [
    lockAnchorStatement(participant_id),
    knownMessageStatement({
      commandId: command.id,
      participantId: participant_id,
      detailsId,
      keyId: claimed?.keyId ?? null,
      authorizationId: claimed?.jti ?? null,
    }),
    factsStatement(participant_id),
    permissionsStatement(senderId, participant_id),
    ...(MAKES_SCHEDULE.includes(command.kind) ? [scheduleInputsStatement(study_id, participant_id)] : []),
  ];
}

/** The results of a command's statements. */
export function readsOf(
  tx: Tx,
  sent: AnchorCommand,
  [, messages, facts, sender, inputs]: readonly unknown[][],
): CommandReads {
  const { participant_id, study_id } = sent;
  const [row] = facts as FactRow[];
  const message = messages![0] as KnownMessage;
  return {
    command: withDetails(sent, message.details),
    lacksDetails: detailsIdOf(sent) !== null && message.details === null,
    message,
    snapshot: row && snapshotOf(row),
    sender: (sender![0] as UserPermissions | undefined) ?? null,
    scheduleInputs: async () =>
      inputs
        ? scheduleInputsOf(tx, participant_id, inputs[0])
        : (await readScheduleInputs(tx, study_id, [participant_id])).get(participant_id)!,
  };
}

/** The row with the message's details that the API stored. */
function detailsIdOf({ message }: AnchorCommand): string | null {
  const { details_id: id } = message as Sender;
  return typeof id === 'string' && UUID.test(id) ? id : null;
}

/** The command with the details of its row. */
const withDetails = <C extends AnchorCommand>(command: C, details: MessageDetails | null): C =>
  details === null
    ? command
    : {
        ...command,
        message: {
          ...command.message,
          ...Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null)),
        },
      };

/** The user whose permission a command needs; null: it needs none. */
function senderIdOf(command: AnchorCommand): string | null {
  // Its authorization is a participant's: a user named beside it is proved by nothing.
  if ((command.message as Sender).actor_type === 'participant') return null;
  switch (command.kind) {
    case 'set':
    case 'cancel':
    case 'override':
    case 'override_back':
    case 'evaluate':
      return command.message.actor_user_id ?? null;
    case 'decide_override':
      return command.message.approver_user_id ?? null;
    default:
      return null;
  }
}
