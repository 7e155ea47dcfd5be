import type { AuditTrail } from '../../db/audit.js';
import type { Tx } from '../../db/knex.js';
import { readScheduleInputs } from '../../db/queries/schedules.js';
import { replaceManualEntry } from '../../db/queries/anchors.js';
import type { AnchorOutcome, Evaluate, Sender } from '../../workflows/contract.js';
import {
  cancelTransition,
  evaluate,
  factsAfter,
  judgeOverrideBack,
  overrideRefusalCode,
  reopenedGuards,
  restsReopened,
  standingFacts,
} from '../../workflows/domain/decide.js';
import { isDate } from '../../workflows/domain/dates.js';
import { nextVersion, scheduleFollows } from '../../workflows/domain/regeneration.js';
import type { DecisionCommand } from '../../workflows/domain/rederive.js';
import { ofDate, sourceFingerprint } from '../../workflows/domain/sources.js';
import type { Decision, Facts, Fault } from '../../workflows/domain/types.js';
import { validate } from '../../workflows/domain/validation.js';
import { mayOverride, maySet, standingOf } from './authority.js';
import type { AnchorCommand } from './commands.js';
import type { Case } from './context.js';
import { scheduleAfter } from './decide-together.js';
import { decideOverride, expireOverride, remindApprovers, requestOverride } from './overrides.js';
import { writeOutcomes } from './write.js';
import type { Outcome } from './write.js';

/** What a command came to, before the state that follows from it is read. */
export type Carried = Omit<AnchorOutcome, 'waiting'> & {
  /** Set where the anchor is final now and waits for nothing: what it became need not be read again. */
  final?: { version: number; enrollment_date_value: string | null; current_schedule_version_id: string | null };
  trace?: unknown;
  facts?: Facts;
};
export interface Bench {
  tx: Tx;
  audit: AuditTrail;
  case: Case;
  /** Whether decisions need a fresh proof of identity where the study does not say. */
  signaturesAskAgain: boolean;
}

export const refuse = (status: number, code: string, detail: string, errors: Fault[] = []): Carried => ({
  result: 'refused',
  refused: { status, code, detail },
  errors,
  warnings: [],
});

/** One command against one case, in the caller's transaction. The only place that knows which command does what. */
export async function carryOut(bench: Bench, command: AnchorCommand): Promise<Carried> {
  const stale =
    'expected_version' in command.message &&
    command.message.expected_version != null &&
    command.message.expected_version !== bench.case.row.anchor.version;
  if (stale) return refuse(409, 'STALE_VERSION', `the anchor is at version ${bench.case.row.anchor.version}`);
  const frozen = bench.case.row.participant.status === 'withdrawn';
  switch (command.kind) {
    case 'withdrawn':
      return frozen ? { result: 'withdrawn', errors: [], warnings: [] } : reevaluate(bench, command.message);
    case 'resume':
      return frozen || bench.case.facts.anchor.reopened ? unchanged : reevaluate(bench, command.message);
    case 'sources_changed':
    case 'day_came':
      return frozen || restsReopened(bench.case.policy, bench.case.facts)
        ? unchanged
        : reevaluate(bench, command.message);
    case 'reinstated':
      return frozen ? unchanged : reinstate(bench, command.message);
    case 'evaluate':
      return frozen ? withdrawnRefusal : evaluateAsked(bench, command.message);
    case 'remind':
      return remindApprovers(bench);
    case 'expire':
      return expireOverride(bench);
    case 'decide_override':
      return decideOverride(bench, command.message);
    default:
      break;
  }
  if (frozen) return withdrawnRefusal;
  switch (command.kind) {
    case 'set':
      return setDate(bench, command.message);
    case 'override':
      return requestOverride(bench, command.message);
    case 'cancel':
      return cancel(bench, command.message);
    case 'override_back':
      return overrideBack(bench, command.message);
  }
}

const unchanged: Carried = { result: 'unchanged', errors: [], warnings: [] };
const withdrawnRefusal = refuse(
  409,
  'PARTICIPANT_WITHDRAWN',
  'the participant has withdrawn: the anchor stays as it is',
);

/** Evaluates all sources, since one of them has changed, and writes what follows. */
async function reevaluate(bench: Bench, sender: Sender): Promise<Carried> {
  const decision = evaluate(bench.case.policy, bench.case.facts);
  return write(bench, decision, { ...sender, actor_type: 'workflow' }, { kind: 'evaluate' }, null, false);
}

/**
 * A withdrawal was taken back: the sources are evaluated, for they may have changed meanwhile, and the schedule goes on
 * as a new version, the same plan included.
 */
async function reinstate(bench: Bench, sender: Sender): Promise<Carried> {
  const { row, policy, facts } = bench.case;
  const evaluated = evaluate(policy, facts);
  const decision = restsReopened(policy, facts) ? { ...evaluated, transitions: [] } : evaluated;
  const hasCurrent = row.anchor.current_schedule_version_id !== null;
  const inputs = (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!;
  const date = decision.transitions.at(-1)?.value?.date ?? facts.anchor.date ?? inputs.current_date;
  const follows = date !== null && (hasCurrent || scheduleFollows(decision, policy, hasCurrent));
  const [written] = await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: decision.transitions,
      trace: decision.trace,
      command: { kind: 'evaluate' },
      sender: { ...sender, actor_type: 'workflow' },
      reason: null,
      ...(follows && { schedule: { inputs, date, reason: 'reinstated' } }),
    },
  ]);
  return {
    result: 'reinstated',
    errors: decision.errors,
    warnings: decision.warnings,
    schedule_version_id: written!.schedule_version_id ?? null,
  };
}

/** As asked for: what a person's evaluation changes is that person's doing. */
async function evaluateAsked(bench: Bench, message: Evaluate): Promise<Carried> {
  const decision = evaluate(bench.case.policy, bench.case.facts);
  const sender = message.actor_user_id ? message : { ...message, actor_type: 'workflow' as const };
  const reason = message.reason?.trim() ? message.reason : null;
  // Without an entry of the history nothing else keeps what somebody asked for and was told.
  const failed = [...decision.errors, ...decision.warnings].filter(({ code }) => code === 'RULE_ERROR');
  if (message.actor_user_id && failed.length > 0)
    bench.audit.record({
      study_id: bench.case.row.study_id,
      user_id: message.actor_user_id,
      action: 'anchor_rule_failed',
      resource_type: 'participant',
      resource_id: bench.case.row.participant_id,
      request_id: message.request_id?.slice(0, 36) ?? null,
      metadata: { result: decision.result, rules: failed.map(({ rule }) => rule), trace: decision.trace },
    });
  return write(bench, decision, sender, { kind: 'evaluate' }, reason, message.ensure_schedule ?? false);
}

async function setDate(
  bench: Bench,
  message: import('../../workflows/contract.js').SetEnrollmentDate,
): Promise<Carried> {
  const { policy, row } = bench.case;
  const own = message.actor_type === 'participant' && policy.permissions.participant_can_set;
  if (!own && !maySet(await standingOf(bench.tx, message.actor_user_id, row), policy)) {
    return refuse(403, 'FORBIDDEN', 'the policy does not let this role set the enrollment date');
  }
  if (typeof message.enrollment_date !== 'string' || !isDate(message.enrollment_date))
    return refuse(422, 'INVALID_DATE', 'enrollment_date must be a date, YYYY-MM-DD');
  const manual = { enrollment_date: message.enrollment_date, entered_by_user_id: message.actor_user_id ?? null };
  const facts: Facts = { ...bench.case.facts, manual };
  const named = {
    ...ofDate(manual.enrollment_date, facts),
    source_type: 'manual_entry' as const,
    source_ref: { entered_by_user_id: manual.entered_by_user_id },
  };
  if (facts.anchor.status === 'finalized' && facts.anchor.date !== manual.enrollment_date) {
    return refuse(
      409,
      'OVERRIDE_REQUIRED',
      `the enrollment date is final (${facts.anchor.date}): a change needs an override`,
    );
  }
  const faults = validate(named, policy, facts);
  if (faults.errors.length > 0)
    return {
      ...refuse(400, 'VALIDATION_FAILED', 'the enrollment date breaks a rule of the policy', faults.errors),
      warnings: faults.warnings,
    };
  const decision = evaluate(policy, facts);
  if (decision.result === 'override_required') {
    return refuse(
      409,
      'OVERRIDE_REQUIRED',
      `the enrollment date is final (${facts.anchor.date}) and its sources now say ${decision.candidate!.date}: a change needs an override`,
    );
  }
  // The date that was posted is the one that may not be taken: it is refused as by an override, and not kept.
  const guarded =
    decision.candidate?.source_type === 'manual_entry' && decision.errors.length > 0 && facts.anchor.reopened;
  if (guarded)
    return refuse(
      400,
      overrideRefusalCode(decision.errors),
      decision.errors.map((e) => e.message).join('; '),
      decision.errors,
    );
  await replaceManualEntry(bench.tx, row.participant_id, bench.case.facts.manual !== null, {
    study_id: row.study_id,
    reason: message.reason ?? null,
    ...manual,
  });
  bench.audit.record({
    study_id: row.study_id,
    user_id: manual.entered_by_user_id,
    action: 'manual_date_entered',
    resource_type: 'participant',
    resource_id: row.participant_id,
    request_id: message.request_id?.slice(0, 36) ?? null,
    metadata: { value: manual.enrollment_date },
  });
  return write(
    { ...bench, case: { ...bench.case, facts } },
    decision,
    message,
    { kind: 'set', enrollment_date: manual.enrollment_date },
    message.reason ?? null,
  );
}

async function cancel(bench: Bench, message: import('../../workflows/contract.js').CancelProposal): Promise<Carried> {
  const { policy, row, facts } = bench.case;
  if (!maySet(await standingOf(bench.tx, message.actor_user_id, row), policy))
    return refuse(403, 'FORBIDDEN', 'the policy does not let this role set the enrollment date');
  if (facts.anchor.status !== 'provisional')
    return refuse(409, 'NOT_PROVISIONAL', `only a proposal is cancelled; the anchor is ${facts.anchor.status}`);
  const guarded = reopenedGuards(policy, facts);
  if (guarded.length > 0)
    return refuse(400, overrideRefusalCode(guarded), guarded.map((e) => e.message).join('; '), guarded);
  await replaceManualEntry(bench.tx, row.participant_id, facts.manual !== null, null);
  const withoutManual: Facts = { ...facts, manual: null };
  const schedule =
    row.anchor.current_schedule_version_id === null
      ? undefined
      : {
          inputs: (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!,
          date: null,
          reason: 'cancelled',
        };
  await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: [cancelTransition(facts.anchor)],
      trace: noTrace,
      command: { kind: 'cancel' },
      sender: message,
      reason: message.reason ?? null,
      cancelledFacts: sourceFingerprint(policy, withoutManual),
      ...(schedule && { schedule }),
    },
  ]);
  return { result: 'cancelled', errors: [], warnings: [] };
}

async function overrideBack(
  bench: Bench,
  message: import('../../workflows/contract.js').OverrideBack,
): Promise<Carried> {
  const { policy, row, facts } = bench.case;
  if (!mayOverride(await standingOf(bench.tx, message.actor_user_id, row), policy))
    return refuse(403, 'FORBIDDEN', 'the policy does not let this role override the enrollment date');
  if (!message.reason?.trim()) return refuse(400, 'REASON_REQUIRED', 'a reason is required');
  if (facts.anchor.status !== 'finalized') return refuse(409, 'NOT_FINALIZED', `the anchor is ${facts.anchor.status}`);
  if (row.pending_override) return refuse(409, 'OVERRIDE_PENDING', 'an override request waits for its decision');
  const { errors, transition, trace } = judgeOverrideBack(policy, facts);
  if (!transition) return refuse(400, errors[0]!.code, errors[0]!.message, errors);
  if (errors.length > 0)
    return refuse(400, overrideRefusalCode(errors), errors.map((e) => e.message).join('; '), errors);
  const inputs = (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!;
  const [written] = await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: [transition],
      trace,
      command: { kind: 'override_back' },
      sender: message,
      reason: message.reason,
      reopenedFacts: standingFacts(policy, factsAfter(facts, transition)),
      schedule: { inputs, date: transition.value!.date, reason: 'override_back' },
    },
  ]);
  return { result: 'reverted', errors: [], warnings: [], schedule_version_id: written!.schedule_version_id ?? null };
}

export const noTrace = { sources: [], validation: [], prerequisites: [] };

/**
 * In `edc` mode a participant who has moved to another site goes by that site's calendar. The date that the schedule
 * was made from stays.
 */
async function followSite(bench: Bench, carried: Carried, sender: Sender, command: DecisionCommand): Promise<Carried> {
  const { row, keyOf } = bench.case;
  if (row.study.scheduling_mode !== 'edc' || row.anchor.current_schedule_version_id === null) return carried;
  const inputs = (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!;
  const date = inputs.current_date;
  if (date === null || !nextVersion(date, inputs, keyOf).change.changes) return carried;
  const [written] = await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: [],
      trace: noTrace,
      command,
      sender,
      reason: null,
      schedule: { inputs, date, reason: 'site_changed' },
    },
  ]);
  return { ...carried, schedule_version_id: written!.schedule_version_id ?? null };
}

/** Writes an evaluation's transitions and the schedule that follows from them (rule 7). */
async function write(
  bench: Bench,
  decision: Decision,
  sender: Sender,
  command: DecisionCommand,
  reason: string | null,
  ensureSchedule = false,
): Promise<Carried> {
  const { row, policy, facts } = bench.case;
  const carried: Carried = {
    result: decision.result,
    errors: decision.errors,
    warnings: decision.warnings,
    source_type: decision.candidate?.source_type ?? null,
    trace: decision.trace,
    facts,
  };
  const last = decision.transitions.at(-1);
  const date = last ? last.value!.date : facts.anchor.date;
  const current = row.anchor.current_schedule_version_id;
  if (decision.transitions.length === 0) return followSite(bench, carried, sender, command);

  let schedule: Outcome['schedule'];
  if (ensureSchedule || scheduleFollows(decision, policy, current !== null)) {
    const inputs = (await readScheduleInputs(bench.tx, row.study_id, [row.participant_id])).get(row.participant_id)!;
    schedule = scheduleAfter(bench.case, decision, inputs, ensureSchedule);
  }
  const [written] = await writeOutcomes(bench.tx, bench.audit, row.study_id, [
    {
      case: bench.case,
      transitions: decision.transitions,
      trace: decision.trace,
      command,
      sender,
      reason,
      ...(schedule && { schedule }),
    },
  ]);
  const made = written!.schedule_version_id ?? null;
  return {
    ...carried,
    schedule_version_id: made,
    ...(last?.status_after === 'finalized' && {
      final: { version: written!.version, enrollment_date_value: date, current_schedule_version_id: made ?? current },
    }),
  };
}
