import type { OverrideBack, RequestOverride } from '../../../workflows/contract.js';
import { isDate } from '../../../workflows/domain/util/dates.js';
import { factsAfter, judgeOverrideBack, noTransition } from '../../../workflows/domain/anchor/decide.js';
import { standingFacts } from '../../../workflows/domain/anchor/kept-facts.js';
import { grant, judgedOverride, warningsOf } from './judged-override.js';
import type { Judged } from './judged-override.js';
import {
  auditOfFailedRules,
  givenReason,
  reasonMissing,
  reasonRequired,
  rejected,
  rejectedByRules,
} from './outcome.js';
import type { CommandContext, CommandOutcome } from './outcome.js';

/** A requested override: applied at once, or stored for an approver. */
export async function requestOverride(context: CommandContext, message: RequestOverride): Promise<CommandOutcome> {
  const { row, policy, facts } = context.snapshot;
  const { permissions } = policy;
  if (typeof message.new_enrollment_date !== 'string' || !isDate(message.new_enrollment_date))
    return rejected(422, 'INVALID_DATE', 'new_enrollment_date must be a date, YYYY-MM-DD');
  const reason = givenReason(message);
  if (permissions.override_requires_reason && (message.reason === undefined || message.reason === null))
    return reasonMissing('reason is required: the policy asks for one');
  if (permissions.override_requires_reason && reason === null) return reasonRequired('the policy requires a reason');
  if (facts.anchor.status !== 'finalized')
    return rejected(409, 'NOT_FINALIZED', `only a finalized date is overridden; the anchor is ${facts.anchor.status}`);
  if (row.pending_override)
    return rejected(409, 'OVERRIDE_PENDING', 'an override request waits for its decision already');
  const requestedBy = message.actor_user_id!;
  const asked = {
    new_enrollment_date: message.new_enrollment_date,
    regenerate_schedule: message.regenerate_schedule ?? true,
    requested_by: requestedBy,
  };
  const judged = await judgedOverride(
    context,
    message,
    { date: asked.new_enrollment_date, regenerate: asked.regenerate_schedule, requestedBy },
    message.preview_hash,
  );
  if ('rejection' in judged) return judged.rejection;
  return permissions.override_requires_approval
    ? askApprovers(context, judged, message, reason, asked)
    : grant(context, judged, message, {
        reason,
        who: { requested_by: requestedBy, approved_by: null },
        command: { kind: 'override', ...asked },
      });
}

/** Stores the override as a request, and notifies the approvers. */
function askApprovers(
  { snapshot, newIds }: CommandContext,
  override: Judged,
  message: RequestOverride,
  reason: string | null,
  asked: { new_enrollment_date: string; regenerate_schedule: boolean; requested_by: string },
): CommandOutcome {
  const { row, policy, facts } = snapshot;
  const { preview_hash, ...impact } = override.impact;
  const id = newIds.overrideRequest;
  return {
    result: {
      result: 'pending_approval',
      errors: [],
      warnings: warningsOf(override),
      override_request_id: id,
      impact: override.impact,
      facts,
    },
    overrideRequest: {
      kind: 'create',
      request: {
        id,
        study_id: row.study_id,
        participant_id: row.participant_id,
        previous_enrollment_date: facts.anchor.date,
        new_enrollment_date: override.date,
        reason,
        regenerate_schedule: override.regenerate,
        requested_by_id: asked.requested_by,
        timeoutHours: policy.override_approval_timeout_hours,
        impact,
        preview_hash,
      },
    },
    decision: {
      snapshot,
      transitions: [noTransition(facts.anchor, 'OVERRIDE_REQUESTED')],
      trace: override.judgement.trace,
      sender: message,
      reason,
      command: { kind: 'override', ...asked, override_request_id: id },
    },
    approverNotice: { requestId: id, requestedBy: asked.requested_by, occasion: 'asked' },
  };
}

/** Reverts an override, or reopens an anchor never overridden: back to the date of the sources, provisional. */
export async function overrideBack(
  { snapshot, newIds, scheduleInputs }: CommandContext,
  message: OverrideBack,
): Promise<CommandOutcome> {
  const { policy, row, facts } = snapshot;
  if (message.reason === undefined || message.reason === null) return reasonMissing('reason is required');
  const reason = givenReason(message);
  if (reason === null) return reasonRequired('a reason is required');
  if (facts.anchor.status !== 'finalized')
    return rejected(409, 'NOT_FINALIZED', `the anchor is ${facts.anchor.status}`);
  if (row.pending_override) return rejected(409, 'OVERRIDE_PENDING', 'an override request waits for its decision');
  const { errors, transition, trace } = judgeOverrideBack(policy, facts);
  if (!transition) return rejected(400, errors[0]!.code, errors[0]!.message, { errors });
  if (errors.length > 0)
    return {
      ...rejectedByRules(errors),
      auditEntries: auditOfFailedRules(snapshot, message, { result: 'refused', errors, warnings: [], trace }),
    };
  const inputs = await scheduleInputs();
  return {
    result: { result: 'reverted', errors: [], warnings: [], schedule_version_id: newIds.scheduleVersion },
    decision: {
      snapshot,
      transitions: [transition],
      trace,
      command: { kind: 'override_back' },
      sender: message,
      reason,
      reopenedFacts: standingFacts(policy, factsAfter(facts, transition)),
      schedule: { id: newIds.scheduleVersion, inputs, date: transition.value!.date, reason: 'override_back' },
    },
  };
}
