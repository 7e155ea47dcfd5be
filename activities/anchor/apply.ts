import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { StaleAnchor } from '../../db/anchor/anchor-writes.queries.js';
import { rememberCommandStatement } from '../../db/anchor/anchor-commands.queries.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';
import type { Database } from '../../db/client/database.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { ScopedTransaction } from '../../db/client/transaction.js';
import type { AnchorOutcome } from '../../workflows/contract.js';
import { authenticate } from './commands/authenticate.js';
import type { AcceptedMessages } from './commands/authenticate.js';
import { commandStatements, readsOf } from './commands/command-reads.js';
import { normalizeIds } from './commands/commands.js';
import type { AnchorCommand } from './commands/commands.js';
import { executeCommand } from './commands/execute-command.js';
import { rejected } from './commands/outcome.js';
import { closedState, stateAfter, waitingState } from './waiting.js';
import type { LabelOptions } from './waiting.js';
import { writeOutcome } from './write-outcome.js';

/**
 * The outcome of a command, with the command's id: an entry of the workflow's history identifies its own command.
 * `told_at_rest`: the workflow that writes the history replies to its senders when it has no message left; those of
 * earlier releases replied at once.
 */
export type AppliedCommand = AnchorOutcome & { command_id: string; told_at_rest: true };

/** How messages are processed: see `createAnchorActivities`. */
export interface ApplyOptions extends AcceptedMessages {
  /** Whether decisions need a new proof of identity if the study does not say. */
  signaturesAskAgain: boolean;
  labels?: LabelOptions | undefined;
  /** A message to this participant was executed, or failed. */
  applied?: (participantId: string) => void;
}

/**
 * Executes one message to a participant's anchor in one transaction. Idempotent by the command's id; the return value
 * is in the workflow's history, with the facts and the trace of the decision.
 */
export const applyAnchorCommand =
  (database: Database, options: ApplyOptions) =>
  async (input: AnchorCommand): Promise<AppliedCommand> => {
    const sent = normalizeIds(input);
    try {
      const outcome = await withStudyScope(
        database,
        sent.study_id,
        (work, rows) => applyInTransaction(work, sent, rows, options),
        'one',
        commandStatements(sent),
      );
      return { ...outcome, command_id: input.id, told_at_rest: true };
    } catch (fault) {
      throw asFailure(fault);
    } finally {
      options.applied?.(sent.participant_id);
    }
  };

/**
 * The way of one command: the snapshot of its facts, the sender, the decision (which writes nothing), the one write,
 * the state that the workflow waits in next, the answer for a repeat.
 * @param rows the results of `commandStatements`, which locked the anchor
 */
async function applyInTransaction(
  work: ScopedTransaction,
  sent: AnchorCommand,
  rows: readonly unknown[][],
  options: ApplyOptions,
): Promise<AnchorOutcome> {
  const { tx } = work;
  const { labels } = options;
  const reads = readsOf(tx, sent, rows);
  const { command, snapshot } = reads;
  const earlier = reads.message.earlier as AnchorOutcome | null;
  // A repeat: it gets the first answer, but the current waiting state; otherwise the deadline of a later request would
  // be lost.
  if (earlier !== null)
    return withShortFacts({
      ...earlier,
      waiting: snapshot ? waitingState(snapshot, earlier.waiting.last_decision, labels) : closedState(),
    });
  if (!snapshot) return { ...NO_PARTICIPANT.result, waiting: closedState() };

  const sender = await authenticate(work, snapshot, reads, options);
  const outcome =
    'refusal' in sender
      ? sender.refusal
      : await executeCommand(tx, snapshot, reads, { ...sender, usuallyAskAgain: options.signaturesAskAgain });
  await writeOutcome(work, snapshot, command, outcome);

  const { final: _final, ...told } = outcome.result;
  const answer = withShortFacts({
    ...told,
    waiting: await stateAfter(tx, snapshot, command, outcome.result, labels),
    http_request_id: requestOf(command),
  });
  work.atCommit(
    rememberCommandStatement({
      id: command.id,
      study_id: command.study_id,
      participant_id: command.participant_id,
      kind: command.kind,
      outcome: answer,
      authorization_id: 'provenance' in sender ? (sender.provenance.authorization_id ?? null) : null,
    }),
  );
  return answer;
}

/** The request of the API behind a message. It may be malformed. */
function requestOf(command: AnchorCommand): string | null {
  // The `request_id` of a decision is that of the override.
  const id: unknown = command.kind === 'decide_override' ? command.message.http_request_id : command.message.request_id;
  return typeof id === 'string' ? id.slice(0, 36) : null;
}

/**
 * Temporal takes no result of more than 2 MB, and no 4 MB at once: its workflow would wait for an answer forever. Long
 * facts are beside their decision in the database alone.
 */
const MAX_SHOWN_FACTS = 200_000;
type WithFacts = AnchorOutcome & { facts?: unknown };
function withShortFacts(outcome: WithFacts): WithFacts {
  if (outcome.facts === undefined) return outcome;
  const letters = JSON.stringify(outcome.facts).length;
  return letters > MAX_SHOWN_FACTS ? { ...outcome, facts: { left_out: letters } } : outcome;
}

const NO_PARTICIPANT = rejected(404, 'NOT_FOUND', 'there is no such participant');

/**
 * A lost race with another writer, or an unavailable database, is retried; the text of a fault never contains row
 * values.
 */
function asFailure(fault: unknown): ApplicationFailure {
  if (fault instanceof ApplicationFailure) return fault;
  const code = faultCode(fault) ?? (fault instanceof Error ? fault.constructor.name : 'Error');
  const expected = fault instanceof StaleAnchor || code === '23505' || code === '40P01' || code === '40001';
  if (!expected)
    log.warn('anchor command failed', {
      code,
      where:
        fault instanceof Error
          ? fault.stack
              ?.split('\n')
              .find((line) => line.includes('at '))
              ?.trim()
          : undefined,
    });
  // Content errors of the database (classes 22, 23, 42) recur every time.
  return ApplicationFailure.create({
    type: expected ? 'LostRace' : 'DatabaseFault',
    message: `the write was not made (${code})`,
    nonRetryable: !expected && /^(22|23|42)/.test(code),
  });
}
