import { randomUUID } from 'node:crypto';
import { lockOverrideRequest, lockPendingRequest } from '../../../db/anchor/override-request-writes.queries.js';
import type { LockedOverrideRequest } from '../../../db/anchor/override-request-writes.queries.js';
import { isReopenedAndUnchanged } from '../../../workflows/domain/anchor/kept-facts.js';
import type { Sender } from '../../../workflows/contract.js';
import { authorizeSender } from '../authority.js';
import type { Provenance } from '../authorization.js';
import type { CommandReads } from './command-reads.js';
import type { AnchorCommand } from './commands.js';
import { evaluateAsked, reevaluate, reinstate } from './evaluations.js';
import { cancelProposedDate, setDate } from './manual-dates.js';
import { rejected } from './outcome.js';
import type { CommandContext, CommandOutcome } from './outcome.js';
import { decideOverride, expireOverride, remindApprovers } from './override-decisions.js';
import { overrideBack, requestOverride } from './overrides.js';
import type { AnchorSnapshot } from '../snapshot.js';
import type { Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';

/**
 * Computes one command without writing: locks its request, checks the sender's permission, then lets the handler of its
 * kind decide.
 * @param provenance of the message: its authorization, and its route
 * @param usuallyAskAgain whether decisions need a new proof of identity if the study does not say
 */
export async function executeCommand(
  tx: Tx,
  snapshot: AnchorSnapshot,
  { command, sender, scheduleInputs }: CommandReads,
  { provenance: { authorization_id: authorizationId, via }, usuallyAskAgain }: Proved,
): Promise<CommandOutcome> {
  const refusal = refusalByState(snapshot, command);
  if (refusal) return refusal;
  const request = await lockedRequest(tx, snapshot, command);
  const authorized = await authorizeSender(tx, snapshot, command, sender, request, {
    authorizationId,
    usuallyAskAgain,
  });
  if ('rejection' in authorized) return authorized.rejection;
  return decide(
    {
      snapshot,
      request,
      signature: authorized.signature,
      scheduleInputs,
      newIds: { overrideRequest: randomUUID(), scheduleVersion: randomUUID() },
    },
    entitled(command, via),
  );
}

interface Proved {
  provenance: Provenance;
  usuallyAskAgain: boolean;
}

/** Only a trigger has a schedule made of a proposal, nobody by hand. */
const entitled = (command: AnchorCommand, via: Provenance['via']): AnchorCommand =>
  command.kind === 'evaluate' && command.message.ensure_schedule && via !== 'trigger'
    ? { ...command, message: { ...command.message, ensure_schedule: false } }
    : command;

const isWithdrawn = ({ row }: AnchorSnapshot): boolean => row.participant.status === 'withdrawn';

/**
 * Refuses by state alone, for every sender: the version differs from the one that the sender saw, or the participant
 * has withdrawn.
 */
function refusalByState(snapshot: AnchorSnapshot, { kind, message }: AnchorCommand): CommandOutcome | null {
  const { version } = snapshot.row.anchor;
  if ('expected_version' in message && message.expected_version != null && message.expected_version !== version)
    return rejected(409, 'STALE_VERSION', `the anchor is at version ${version}`);
  const moves = ['evaluate', 'set', 'override', 'cancel', 'override_back'].includes(kind);
  return moves && isWithdrawn(snapshot)
    ? rejected(409, 'PARTICIPANT_WITHDRAWN', 'the participant has withdrawn: the anchor stays as it is')
    : null;
}

async function lockedRequest(
  tx: Tx,
  { row: { participant_id, pending_override } }: AnchorSnapshot,
  { kind, message }: AnchorCommand,
): Promise<LockedOverrideRequest | undefined> {
  const concernsPending = kind === 'remind' || kind === 'expire' || (kind === 'sources_changed' && pending_override);
  if (concernsPending) return lockPendingRequest(tx, participant_id);
  if (kind !== 'decide_override') return undefined;
  const { request_id } = message;
  return typeof request_id === 'string' && UUID.test(request_id)
    ? lockOverrideRequest(tx, participant_id, request_id)
    : undefined;
}

/** The only place that maps commands to handlers. */
function decide(context: CommandContext, command: AnchorCommand): CommandOutcome | Promise<CommandOutcome> {
  switch (command.kind) {
    case 'withdrawn':
    case 'resume':
    case 'reinstated':
    case 'sources_changed':
    case 'day_came':
      return follow(context, command);
    case 'evaluate':
      return evaluateAsked(context, command.message);
    case 'remind':
      return remindApprovers(context);
    case 'expire':
      return expireOverride(context);
    case 'decide_override':
      return decideOverride(context, command.message);
    case 'set':
      return setDate(context, command.message);
    case 'override':
      return requestOverride(context, command.message);
    case 'cancel':
      return cancelProposedDate(context, command.message);
    case 'override_back':
      return overrideBack(context, command.message);
  }
}

/**
 * Something may have changed. A start of the workflow looks for everything: messages may be lost with a former run. A
 * withdrawal that is reversed already, or a reinstatement that is executed, says no more than that.
 */
function follow(
  context: CommandContext,
  { kind, message }: { kind: AnchorCommand['kind']; message: Sender },
): CommandOutcome | Promise<CommandOutcome> {
  const { snapshot } = context;
  if (isWithdrawn(snapshot))
    return kind === 'withdrawn' ? { result: { result: 'withdrawn', errors: [], warnings: [] } } : unchanged;
  if ((kind === 'reinstated' || kind === 'resume') && snapshot.row.anchor.is_to_continue)
    return reinstate(context, message);
  const outcome = isAtRest(kind, snapshot) ? unchanged : reevaluate(context, message);
  return kind === 'sources_changed' && context.request ? tellApprovers(outcome, context.request) : outcome;
}

/**
 * Tells the approvers of a pending request once more: each user is told once, so that only those hear of it who may
 * decide it since then, such as the approvers of the site to which its participant has moved.
 */
const tellApprovers = async (
  outcome: CommandOutcome | Promise<CommandOutcome>,
  { id, requested_by_id }: LockedOverrideRequest,
): Promise<CommandOutcome> => ({
  ...(await outcome),
  approverNotice: { requestId: id, requestedBy: requested_by_id, occasion: 'asked' },
});

/** Whether a reopened anchor stays as it is. One that a former release reopened does not know what has changed. */
const isAtRest = (kind: AnchorCommand['kind'], { policy, facts }: AnchorSnapshot): boolean =>
  isReopenedAndUnchanged(policy, facts) ||
  (kind === 'resume' && facts.anchor.reopened && facts.anchor.reopened_facts === null);

const unchanged: CommandOutcome = { result: { result: 'unchanged', errors: [], warnings: [] } };
