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

/** What a command is decided from, read when the anchor was locked. */
export interface CommandReads {
  message: KnownMessage;
  /** Undefined: there is no such participant. */
  snapshot: AnchorSnapshot | undefined;
  /** Who the user whose permission the command needs is to the participant's study and site; null: nobody. */
  sender: UserPermissions | null;
  scheduleInputs: (tx: Tx) => Promise<ScheduleInputs>;
}

/** Commands that usually make a schedule; the others read its inputs when they need them. */
const MAKES_SCHEDULE: readonly AnchorCommand['kind'][] = [
  'set',
  'override',
  'decide_override',
  'override_back',
  'reinstated',
];

/**
 * The statements that lock a command's anchor and read what it is decided from. They go in one round trip, with the
 * beginning of the transaction: each round trip is a tenth of a decision's processor time. The lock comes first, and
 * every later statement sees what was committed until it was granted.
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

/** What the statements of a command have read. */
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
