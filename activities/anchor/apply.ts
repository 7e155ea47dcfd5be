import { lastChange, rememberCommandStatement } from '../../db/anchor/anchors.queries.js';
import { asCaregiver } from '../../db/portal/portal.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import type { AnchorOutcome, Sender, WaitingState } from '../../workflows/contract.js';
import type { WorkerPayloads } from '../../workflows/util/payload-codec.js';
import { provenanceOf } from './authorization.js';
import type { Provenance, UnsignedMessages } from './authorization.js';
import { commandStatements, readsOf } from './commands/command-reads.js';
import type { CommandReads } from './commands/command-reads.js';
import { executeCommand } from './commands/execute-command.js';
import { asFailure } from './commands/failure.js';
import { detailsIdOf, faultOfSender, normalizeIds, validateCommand, withDetails } from './commands/commands.js';
import type { AnchorCommand } from './commands/commands.js';
import { labelsOf } from './labels.js';
import type { LabelOptions } from './labels.js';
import { rejected } from './commands/outcome.js';
import type { CommandOutcome, CommandResult } from './commands/outcome.js';
import { refusalEntry } from './commands/refusal-entry.js';
import { loadSnapshots, snapshotOf } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';
import { closedState, waitingState } from './waiting.js';
import { writeOutcome } from './write-outcome.js';
import type { Database } from '../../db/client/database.js';

/**
 * The outcome of a command, with the command's id: an entry of the workflow's history identifies its own command.
 * `told_at_rest`: the workflow that writes the history replies to its senders when it has no message left; those of
 * earlier releases replied at once.
 */
export type AppliedCommand = AnchorOutcome & { command_id: string; told_at_rest: true };

/** How messages are processed: see `createAnchorActivities`. */
export interface ApplyOptions {
  unsigned: UnsignedMessages;
  /** `sealed`: an unencrypted message is refused. */
  payloads?: WorkerPayloads;
  /** Whether decisions need a new proof of identity if the study does not say. */
  signaturesAskAgain: boolean;
  labels?: LabelOptions | undefined;
}

/**
 * Executes one message to a participant's anchor in one transaction: loads the snapshot of its facts, validates the
 * message, authorizes the sender, decides (pure), writes the result once. Idempotent by the command's id; the return
 * value is in the workflow's history, with the facts and the trace of the decision.
 */
export const applyAnchorCommand =
  (database: Database, options: ApplyOptions) =>
  async (input: AnchorCommand): Promise<AppliedCommand> => ({
    ...(await applied(database, normalizeIds(input), options)),
    command_id: input.id,
    told_at_rest: true,
  });

async function applied(database: Database, sent: AnchorCommand, options: ApplyOptions): Promise<AnchorOutcome> {
  const { labels } = options;
  const waiting = (snapshot: AnchorSnapshot, lastDecision: string): WaitingState => ({
    ...waitingState(snapshot, lastDecision),
    ...(labels && { labels: labelsOf(snapshot, labels) }),
  });
  try {
    return await withStudyScope(
      database,
      sent.study_id,
      async (work, rows) => {
        const { tx } = work;
        const reads = readsOf(sent, rows);
        const { snapshot } = reads;
        const { earlier, details } = reads.message;
        const command = withDetails(sent, details);
        // A repeat: it gets the first answer, but the current waiting state; otherwise the deadline of a later request
        // would be lost.
        if (earlier !== null)
          return {
            ...(earlier as AnchorOutcome),
            waiting: snapshot ? waiting(snapshot, (earlier as AnchorOutcome).waiting.last_decision) : closedState(),
          };
        if (!snapshot) return { ...NO_PARTICIPANT.result, waiting: closedState() };

        const { provenance, refusal } = await authenticate(work, snapshot, command, reads, options);
        const outcome = refusal ?? (await executeCommand(tx, snapshot, command, reads, options.signaturesAskAgain));
        const { result } = outcome;
        await writeOutcome(
          work,
          snapshot,
          result.refused ? { ...outcome, auditEntries: [refusalEntry(command, result)] } : outcome,
        );

        const { final, ...told } = result;
        const after = final
          ? becameFinal(snapshot, result.result, final)
          : leavesAsItWas(command, result)
            ? snapshot
            : (await loadSnapshots(tx, [command.participant_id]))[0]!;
        const answer: AnchorOutcome = { ...told, waiting: waiting(after, inWords(command, result)) };
        // A new run has no earlier decision; the others remember the last one returned to them.
        if ((command.kind === 'resume' || result.refused) && snapshot.row.anchor.version > 1)
          answer.waiting.last_change = await lastChange(tx, command.participant_id);
        work.atCommit(
          rememberCommandStatement({
            id: command.id,
            study_id: command.study_id,
            participant_id: command.participant_id,
            kind: command.kind,
            outcome: answer,
            authorization_id: provenance?.authorization_id ?? null,
          }),
        );
        return answer;
      },
      'one',
      commandStatements(sent),
    );
  } catch (fault) {
    throw asFailure(fault);
  }
}

const NO_PARTICIPANT = rejected(404, 'NOT_FOUND', 'there is no such participant');

/**
 * Validates the message and determines its sender. From here on every audit record of the transaction has the route of
 * the message, and the person who is acted for.
 */
async function authenticate(
  { audit }: WriteTransaction,
  snapshot: AnchorSnapshot,
  command: AnchorCommand,
  { message: known }: CommandReads,
  { unsigned, payloads = 'open' }: ApplyOptions,
): Promise<{ provenance?: Provenance; refusal?: CommandOutcome }> {
  const malformed = validateCommand(command.message) ?? faultOfSender(command);
  const { actor_type, caregiver_id } = command.message as Sender;
  if (!malformed && actor_type === 'participant' && caregiver_id) audit.inEach(asCaregiver(caregiver_id));
  if (payloads === 'sealed' && command.open === true)
    return { refusal: rejected(403, 'PAYLOAD_NOT_SEALED', 'the payload of the message is not sealed') };
  if (malformed) return { refusal: rejected(422, 'INVALID_MESSAGE', malformed) };
  const lacksDetails = detailsIdOf(command) !== null && known.details === null;
  const provenance = await provenanceOf(command, known, unsigned, snapshot.facts.now);
  // An authorization is bound to the whole message: without its details, the content is another one.
  if ('code' in provenance && !(lacksDetails && provenance.mismatch === 'content'))
    return { refusal: rejected(403, provenance.code, provenance.detail) };
  if ('code' in provenance || lacksDetails)
    return {
      refusal: rejected(422, 'INVALID_MESSAGE', 'details_id names nothing that is kept: send the message again'),
    };
  audit.inEach({ via: provenance.via, ...(provenance.identity && { identity: provenance.identity }) });
  return { provenance };
}

/** Whether the waiting state is as it was read. A reminder changes no decision, but the time of the next reminder. */
const leavesAsItWas = (command: AnchorCommand, { result, refused }: CommandResult): boolean =>
  command.kind !== 'remind' && (refused !== undefined || result === 'unchanged' || result === 'none');

/**
 * An anchor that just became final: it waits for nothing, so its facts need not be read again. An applied override
 * leaves no pending request.
 */
const becameFinal = (
  snapshot: AnchorSnapshot,
  result: CommandResult['result'],
  final: NonNullable<CommandResult['final']>,
): AnchorSnapshot =>
  snapshotOf({
    ...snapshot.row,
    anchor: { ...snapshot.row.anchor, ...final, status: 'finalized', reopened: false, updated_at: snapshot.facts.now },
    pending_override: result === 'applied' ? null : snapshot.row.pending_override,
  });

/** The last decision for operators in the Temporal UI. Dates and codes, no personal data. */
function inWords(command: AnchorCommand, { result, refused, errors }: CommandResult): string {
  const what = {
    resume: 'started',
    sources_changed: 'a source changed',
    day_came: 'the day of a date came',
    evaluate: 'evaluated',
    set: 'date entered by hand',
    override: 'override asked for',
    decide_override: 'override decided',
    cancel: 'proposal cancelled',
    override_back: 'override taken back',
    withdrawn: 'withdrawn',
    reinstated: 'reinstated',
    remind: 'approvers reminded',
    expire: 'deadline of the override',
  }[command.kind];
  const codes = errors.map((e) => e.code).join(', ');
  return `${what}: ${refused ? `refused, ${refused.code}` : result}${codes ? ` (${codes})` : ''}`;
}
