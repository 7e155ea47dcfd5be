import type { Evaluate, Sender } from '../../../workflows/contract.js';
import { evaluate, evaluateUnlessAtRest } from '../../../workflows/domain/anchor/decide.js';
import { nextVersion, scheduleAfter, scheduleFollows } from '../../../workflows/domain/anchor/regeneration.js';
import type { DecisionCommand } from '../../../workflows/domain/anchor/rederive.js';
import type { Decision } from '../../../workflows/domain/util/types.js';
import { auditOfFailedRules, givenReason, noTrace } from './outcome.js';
import type { AnchorDecision, CommandContext, CommandOutcome, CommandResult } from './outcome.js';

/** Evaluates all sources, since one of them has changed. */
export function reevaluate(context: CommandContext, sender: Sender): Promise<CommandOutcome> {
  const { policy, facts } = context.snapshot;
  return evaluationOutcome(context, evaluate(policy, facts), {
    sender: { ...sender, actor_type: 'workflow' },
    command: { kind: 'evaluate' },
    reason: null,
  });
}

/**
 * A withdrawal was reversed: the sources are evaluated, since they may have changed meanwhile, and the schedule
 * continues as a new version, even with the same plan. One that an override left as it was keeps its date.
 */
export async function reinstate(
  { snapshot, newIds, scheduleInputs }: CommandContext,
  sender: Sender,
): Promise<CommandOutcome> {
  const { row, policy, facts } = snapshot;
  const decision = evaluateUnlessAtRest(policy, facts);
  const hasCurrent = row.anchor.current_schedule_version_id !== null;
  const inputs = await scheduleInputs();
  const date = decision.transitions.at(-1)?.value?.date ?? inputs.current_date ?? facts.anchor.date;
  const follows = date !== null && (hasCurrent || scheduleFollows(decision, policy, hasCurrent));
  return {
    result: {
      result: 'reinstated',
      errors: decision.errors,
      warnings: decision.warnings,
      schedule_version_id: follows ? newIds.scheduleVersion : null,
    },
    decision: {
      snapshot,
      transitions: decision.transitions,
      trace: decision.trace,
      command: { kind: 'evaluate' },
      sender: { ...sender, actor_type: 'workflow' },
      reason: null,
      ...(follows && { schedule: { id: newIds.scheduleVersion, inputs, date, reason: 'reinstated' } }),
    },
  };
}

/** On request: changes by a person's evaluation are attributed to that person. */
export function evaluateAsked(context: CommandContext, message: Evaluate): Promise<CommandOutcome> {
  const { snapshot } = context;
  const decision = evaluate(snapshot.policy, snapshot.facts);
  return evaluationOutcome(
    context,
    decision,
    {
      sender: message.actor_user_id ? message : { ...message, actor_type: 'workflow' as const },
      command: { kind: 'evaluate' },
      reason: givenReason(message),
      ensureSchedule: message.ensure_schedule ?? false,
    },
    message.actor_user_id ? { auditEntries: auditOfFailedRules(snapshot, message, decision) } : {},
  );
}

interface Asked {
  sender: Sender;
  command: DecisionCommand;
  reason: string | null;
  ensureSchedule?: boolean;
}

/** The result of an evaluation: its transitions, and the schedule that follows from them. */
export async function evaluationOutcome(
  context: CommandContext,
  decision: Decision,
  asked: Asked,
  more: Pick<CommandOutcome, 'auditEntries' | 'manualEntry'> = {},
): Promise<CommandOutcome> {
  const { snapshot, newIds, scheduleInputs } = context;
  const { row, policy, facts } = snapshot;
  const { sender, command, reason, ensureSchedule = false } = asked;
  const result: CommandResult = {
    result: decision.result,
    errors: decision.errors,
    warnings: decision.warnings,
    source_type: decision.candidate?.source_type ?? null,
    trace: decision.trace,
    facts,
  };
  const last = decision.transitions.at(-1);
  if (!last) return followSite(context, { result, ...more }, asked);

  const current = row.anchor.current_schedule_version_id;
  const hasCurrent = current !== null;
  const schedule =
    (ensureSchedule || scheduleFollows(decision, policy, hasCurrent)
      ? scheduleAfter(policy, facts, decision, await scheduleInputs(), { hasCurrent, ensure: ensureSchedule })
      : undefined) ?? (await siteSchedule(context));
  const made = schedule ? newIds.scheduleVersion : null;
  return {
    ...more,
    result: {
      ...result,
      schedule_version_id: made,
      ...(last.status_after === 'finalized' && {
        final: {
          version: facts.anchor.version + decision.transitions.length,
          enrollment_date_value: last.value!.date,
          current_schedule_version_id: made ?? current,
        },
      }),
    },
    decision: {
      snapshot,
      transitions: decision.transitions,
      trace: decision.trace,
      command,
      sender,
      reason,
      ...(schedule && { schedule: { id: newIds.scheduleVersion, ...schedule } }),
    },
  };
}

async function followSite(
  context: CommandContext,
  outcome: CommandOutcome,
  { sender, command }: Asked,
): Promise<CommandOutcome> {
  const { snapshot, newIds } = context;
  const schedule = await siteSchedule(context);
  if (!schedule) return outcome;
  return {
    ...outcome,
    result: { ...outcome.result, schedule_version_id: newIds.scheduleVersion },
    decision: {
      snapshot,
      transitions: [],
      trace: noTrace,
      command,
      sender,
      reason: null,
      schedule: { id: newIds.scheduleVersion, ...schedule },
    },
  };
}

/** In `edc` mode a participant who moved to another site gets that site's calendar. The date of the schedule stays. */
async function siteSchedule({
  snapshot: { row, keyOf },
  scheduleInputs,
}: CommandContext): Promise<AnchorDecision['schedule']> {
  if (row.study.scheduling_mode !== 'edc' || row.anchor.current_schedule_version_id === null) return undefined;
  const inputs = await scheduleInputs();
  const date = inputs.current_date;
  if (date === null || !nextVersion(date, inputs, keyOf).change.changes) return undefined;
  return { inputs, date, reason: 'site_changed' };
}
