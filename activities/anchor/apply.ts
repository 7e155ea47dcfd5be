import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Database } from '../../db/knex.js';
import { StaleAnchor, lastChange, lockAnchor, rememberCommands } from '../../db/queries/anchors.js';
import { asCaregiver } from '../../db/queries/portal.js';
import { inScope } from '../../db/transaction.js';
import type { AnchorOutcome, Sender, WaitingState } from '../../workflows/contract.js';
import type { WorkerPayloads } from '../../workflows/payloads.js';
import { provenanceOf } from './authorization.js';
import type { UnsignedMessages } from './authorization.js';
import { carryOut, refuse } from './carry-out.js';
import type { Carried } from './carry-out.js';
import { detailsIdOf, faultOfMessage, faultOfSender, withDetails, withPlainIds } from './commands.js';
import type { AnchorCommand } from './commands.js';
import { readCases } from './context.js';
import type { Case } from './context.js';
import { labelsOf } from './labels.js';
import type { LabelOptions } from './labels.js';
import { goneState, waitingState } from './waiting.js';

/**
 * What became of a command, and of which: what stands in the workflow's history says itself whose it is.
 * `told_at_rest`: the history is made by a workflow that tells what came of its messages when none is left; those of
 * earlier releases told at once.
 */
export type AppliedCommand = AnchorOutcome & { command_id: string; told_at_rest: true };

/** How messages are taken: see `createAnchorActivities`. */
export interface ApplyOptions {
  unsigned: UnsignedMessages;
  /** `sealed`: a message that came in the open is refused. */
  payloads?: WorkerPayloads;
  signaturesAskAgain: boolean;
  labels?: LabelOptions | undefined;
}

/**
 * Carries out one message to a participant's anchor in one transaction: facts read, the pure decision called, anchor,
 * history, schedule, visits, audit records and events written. Idempotent by the command's id; what it returns stands
 * in the workflow's history, with the facts and the trace that it was decided from.
 * @param signaturesAskAgain whether decisions need a fresh proof of identity where the study does not say
 */
export const applyAnchorCommand =
  (database: Database, options: ApplyOptions) =>
  async (given: AnchorCommand): Promise<AppliedCommand> => ({
    ...(await applied(database, given, options)),
    command_id: given.id,
    told_at_rest: true,
  });

async function applied(
  database: Database,
  given: AnchorCommand,
  { unsigned, payloads = 'open', signaturesAskAgain, labels }: ApplyOptions,
): Promise<AnchorOutcome> {
  const sent = withPlainIds(given);
  try {
    return await inScope(
      database,
      sent.study_id,
      async ({ tx, audit }) => {
        const { found, earlier, details } = await lockAnchor(tx, sent.participant_id, sent.id, detailsIdOf(sent));
        const command = withDetails(sent, details);
        const [current] = found ? await readCases(tx, [command.participant_id]) : [];
        const waiting = (of: Case, lastDecision: string): WaitingState => ({
          ...waitingState(of, lastDecision),
          ...(labels && { labels: labelsOf(of, labels) }),
        });
        // Repeated: the answer is the one of then, what is waited for is that of now, or a later request's deadline
        // were forgotten.
        if (earlier)
          return {
            ...(earlier as AnchorOutcome),
            waiting: current ? waiting(current, (earlier as AnchorOutcome).waiting.last_decision) : goneState(),
          };
        if (!current)
          return {
            result: 'refused',
            refused: { status: 404, code: 'NOT_FOUND', detail: 'there is no such participant' },
            errors: [],
            warnings: [],
            waiting: goneState(),
          };

        const malformed = faultOfMessage(command.message) ?? faultOfSender(command);
        const { actor_type, caregiver_id } = command.message as Sender;
        if (!malformed && actor_type === 'participant' && caregiver_id) audit.inEach(asCaregiver(caregiver_id));
        const provenance =
          payloads === 'sealed' && command.open === true
            ? { code: 'PAYLOAD_NOT_SEALED', detail: 'the payload of the message is not sealed' }
            : malformed
              ? { code: 'INVALID_MESSAGE', detail: malformed }
              : await provenanceOf(tx, command, unsigned, current.facts.now);
        if ('via' in provenance)
          audit.inEach({ via: provenance.via, ...(provenance.identity && { identity: provenance.identity }) });
        const carried =
          'code' in provenance
            ? refuse(provenance.code === 'INVALID_MESSAGE' ? 422 : 403, provenance.code, provenance.detail)
            : await carryOut({ tx, audit, case: current, signaturesAskAgain }, command);
        const { refused } = carried;
        if (refused) {
          const sender =
            command.kind === 'decide_override' ? command.message.approver_user_id : command.message.actor_user_id;
          const request =
            command.kind === 'decide_override' ? command.message.http_request_id : command.message.request_id;
          audit.record({
            study_id: command.study_id,
            user_id: asUuid(sender),
            action: command.kind === 'decide_override' ? 'override_decision_refused' : `anchor_${command.kind}_refused`,
            resource_type: 'participant',
            resource_id: command.participant_id,
            request_id: asText(request, 36),
            metadata: {
              code: refused.code,
              errors: carried.errors.map((e) => e.code),
              command_id: command.id,
              ...(command.kind === 'decide_override' && {
                override_request_id: asText(command.message.request_id, 100),
                decision: asText(command.message.decision, 20),
                sent_as_user: asText(sender, 100),
              }),
            },
          });
        }
        const moved = !refused && carried.result !== 'unchanged' && carried.result !== 'none';
        const { final, ...told } = carried;
        const after = final
          ? becameFinal(current, final)
          : moved || command.kind === 'remind'
            ? (await readCases(tx, [command.participant_id]))[0]!
            : current;
        const outcome: AnchorOutcome = { ...told, waiting: waiting(after, inWords(command, carried)) };
        // A run that has just begun knows no decision of before; the others remember the last one that they were told.
        if ((command.kind === 'resume' || refused) && current.row.anchor.version > 1)
          outcome.waiting.last_change = await lastChange(tx, command.participant_id);
        await rememberCommands(tx, [
          {
            id: command.id,
            study_id: command.study_id,
            participant_id: command.participant_id,
            kind: command.kind,
            outcome,
            authorization_id: ('via' in provenance ? provenance.authorization_id : undefined) ?? null,
          },
        ]);
        return outcome;
      },
      'one',
    );
  } catch (fault) {
    throw asFailure(fault);
  }
}

/**
 * The case of an anchor that was just made final: nothing is waited for, so its facts need not be read a second time.
 */
const becameFinal = (current: Case, final: NonNullable<Carried['final']>): Case => ({
  ...current,
  row: {
    ...current.row,
    anchor: { ...current.row.anchor, ...final, status: 'finalized', reopened: false, updated_at: current.facts.now },
  },
});

/** The last decision as an operator reads it in the Temporal UI. Dates and codes, nothing of a person. */
function inWords(command: AnchorCommand, carried: Carried): string {
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
  const codes = carried.errors.map((e) => e.code).join(', ');
  return `${what}: ${carried.refused ? `refused, ${carried.refused.code}` : carried.result}${codes ? ` (${codes})` : ''}`;
}

const asUuid = (value: unknown): string | null =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value) ? value : null;
const asText = (value: unknown, most: number): string | null =>
  typeof value === 'string' ? value.slice(0, most) : null;

/**
 * A race lost to another writer or a database that is away is tried again; the text of a fault never carries row
 * values.
 */
function asFailure(fault: unknown): ApplicationFailure {
  if (fault instanceof ApplicationFailure) return fault;
  const code = (fault as { code?: string }).code ?? (fault instanceof Error ? fault.constructor.name : 'Error');
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
  // What the database refuses for its content (classes 22, 23, 42) it refuses every time.
  return ApplicationFailure.create({
    type: expected ? 'LostRace' : 'DatabaseFault',
    message: `the write was not made (${code})`,
    nonRetryable: !expected && /^(22|23|42)/.test(code),
  });
}
