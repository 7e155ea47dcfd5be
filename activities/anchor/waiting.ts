import { lastChange } from '../../db/anchor/anchors.queries.js';
import type { Tx } from '../../db/client/database.js';
import type { OperatorLabels, WaitingState } from '../../workflows/contract.js';
import { waitingConditions } from '../../workflows/domain/anchor/waiting.js';
import { epochOf } from '../../workflows/domain/util/dates.js';
import { consoleLinks } from '../../workflows/domain/util/console-links.js';
import type { AnchorCommand } from './commands/commands.js';
import type { CommandResult } from './commands/outcome.js';
import { loadSnapshots, snapshotOf } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';

/** The participant data that a deployment shows to Temporal's operators. */
export interface LabelOptions {
  publicUrl: string;
  /** Search attributes of the Temporal server: an unknown one would fail the workflow's task. */
  registered: ReadonlySet<string>;
  /** Participant codes are pseudonyms; not every study wants them there. */
  participantCodes: boolean;
  /** The staff console is enabled. */
  console: boolean;
}

/** The waiting state after a command was written. Only a state that the command may have changed is read again. */
export async function stateAfter(
  tx: Tx,
  snapshot: AnchorSnapshot,
  command: AnchorCommand,
  result: CommandResult,
  labels: LabelOptions | undefined,
): Promise<WaitingState> {
  const after = result.final
    ? becameFinal(snapshot, result.result, result.final)
    : leavesAsItWas(command, result)
      ? snapshot
      : (await loadSnapshots(tx, [command.participant_id]))[0]!;
  const waiting = waitingState(after, inWords(command, result), labels);
  // A new run has no earlier decision; the others remember the last one returned to them.
  if ((command.kind === 'resume' || result.refused) && snapshot.row.anchor.version > 1)
    waiting.last_change = await lastChange(tx, command.participant_id);
  return waiting;
}

/** The waiting state of the participant's workflow, in words for the Temporal UI. */
export function waitingState(
  snapshot: AnchorSnapshot,
  lastDecision: string,
  labels: LabelOptions | undefined,
): WaitingState {
  const { row, facts, policy } = snapshot;
  const { anchor } = row;
  const pending = row.pending_override;
  const remindAt = pending?.reminded_at === null ? pending.remind_at : null;
  const { closed, waiting_for, date_ahead, rule_errors } = waitingConditions(policy, facts, pending !== null);
  return {
    status: anchor.status as WaitingState['status'],
    version: anchor.version,
    enrollment_date: anchor.enrollment_date_value,
    schedule_version_id: anchor.current_schedule_version_id,
    waiting_for,
    since: pending?.requested_at ?? anchor.updated_at,
    last_decision: lastDecision,
    closed,
    date_ahead,
    ...(rule_errors.length > 0 && { rule_errors }),
    pending_override: pending && {
      request_id: pending.id,
      remind_at: remindAt,
      expires_at: pending.expires_at,
      wait_ms: Math.max(epochOf(remindAt ?? pending.expires_at) - epochOf(facts.now) + 1, 1),
    },
    ...(labels && { labels: labelsOf(snapshot, labels) }),
  };
}

/** The state of a deleted participant. */
export const closedState = (): WaitingState => ({
  status: 'unset',
  version: 0,
  enrollment_date: null,
  schedule_version_id: null,
  waiting_for: [],
  since: '1970-01-01T00:00:00.000Z',
  last_decision: 'the participant was removed',
  closed: true,
  pending_override: null,
});

/**
 * Whether the waiting state is as it was read. A reminder changes no decision, but the time of the next reminder; a
 * schedule may follow the participant's site alone.
 */
const leavesAsItWas = (command: AnchorCommand, { result, refused, schedule_version_id }: CommandResult): boolean =>
  command.kind !== 'remind' &&
  !schedule_version_id &&
  (refused !== undefined || result === 'unchanged' || result === 'none');

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

/** The labels by which operators identify a participant. */
function labelsOf(
  { row }: AnchorSnapshot,
  { publicUrl, registered, participantCodes, console }: LabelOptions,
): OperatorLabels {
  const page = consoleLinks(publicUrl, console)?.participant(row.participant_id);
  return {
    ...(registered.has('StudyCode') && { study_code: row.study_code }),
    ...(registered.has('ParticipantCode') && { participant_code: participantCodes ? row.participant_code : null }),
    ...(registered.has('WaitingFor') && { waiting_for: true as const }),
    ...(registered.has('SiteId') && { site_id: row.site_id }),
    // The API's own page needs a token, which a browser does not send.
    timeline:
      page !== undefined
        ? `${page}?tab=timeline`
        : `${publicUrl.replace(/\/+$/, '')}/api/studies/${row.study_id}/participants/${row.participant_id}/timeline` +
          `?format=html`,
    ...(page !== undefined && { console: page }),
  };
}
