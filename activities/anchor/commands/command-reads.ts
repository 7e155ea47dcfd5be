import { knownMessageStatement, lockAnchorStatement } from '../../../db/anchor/anchors.queries.js';
import type { KnownMessage } from '../../../db/anchor/anchors.queries.js';
import { claimedAuthorization } from '../../../db/anchor/message-authorization.js';
import type { Statement } from '../../../db/client/one-trip.js';
import type { Tx } from '../../../db/client/database.js';
import { permissionsStatement } from '../../../db/identity/user-permissions.queries.js';
import type { UserPermissions } from '../../../db/identity/user-permissions.queries.js';
import { factsStatement } from '../../../db/participants/facts.queries.js';
import type { FactRow } from '../../../db/participants/facts.queries.js';
import {
  readScheduleInputs,
  scheduleInputsOf,
  scheduleInputsStatement,
} from '../../../db/scheduling/schedules.queries.js';
import type { ScheduleInputs } from '../../../workflows/domain/anchor/regeneration.js';
import { senderIdOf } from '../authority.js';
import { snapshotOf } from '../snapshot.js';
import type { AnchorSnapshot } from '../snapshot.js';
import { detailsIdOf } from './commands.js';
import type { AnchorCommand } from './commands.js';

/** The data behind a command's decision, read after the anchor was locked. */
export interface CommandReads {
  message: KnownMessage;
  /** Undefined: the participant does not exist. */
  snapshot: AnchorSnapshot | undefined;
  /** The role of the user whose permission the command needs, in the participant's study and site; null: none. */
  sender: UserPermissions | null;
  scheduleInputs: (tx: Tx) => Promise<ScheduleInputs>;
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
  const claimed = typeof authorization === 'string' ? claimedAuthorization(authorization) : null;
  return [
    lockAnchorStatement(participant_id),
    knownMessageStatement({
      commandId: command.id,
      participantId: participant_id,
      detailsId: detailsIdOf(command),
      keyId: claimed?.keyId ?? null,
      authorizationId: claimed?.jti ?? null,
    }),
    factsStatement(participant_id),
    permissionsStatement(senderIdOf(command), participant_id),
    ...(MAKES_SCHEDULE.includes(command.kind) ? [scheduleInputsStatement(study_id, participant_id)] : []),
  ];
}

/** The results of a command's statements. */
export function readsOf(
  { participant_id, study_id }: AnchorCommand,
  [, message, facts, sender, inputs]: readonly unknown[][],
): CommandReads {
  const [row] = facts as FactRow[];
  return {
    message: message![0] as KnownMessage,
    snapshot: row && snapshotOf(row),
    sender: (sender![0] as UserPermissions | undefined) ?? null,
    scheduleInputs: async (tx) =>
      inputs
        ? scheduleInputsOf(tx, participant_id, inputs[0])
        : (await readScheduleInputs(tx, study_id, [participant_id])).get(participant_id)!,
  };
}
