import type { CancelProposal, SetEnrollmentDate } from '../../../workflows/contract.js';
import { isDate } from '../../../workflows/domain/util/dates.js';
import { cancelTransition, evaluate, factsAfter, reopenedGuards } from '../../../workflows/domain/anchor/decide.js';
import { cancelledFacts } from '../../../workflows/domain/anchor/kept-facts.js';
import { ofDate } from '../../../workflows/domain/anchor/sources.js';
import type { Facts } from '../../../workflows/domain/util/types.js';
import { validateCandidate } from '../../../workflows/domain/anchor/validation.js';
import { evaluationOutcome } from './evaluations.js';
import { auditOfFailedRules, givenReason, noTrace, rejected, rejectedByRules } from './outcome.js';
import type { CommandContext, CommandOutcome } from './outcome.js';

/** A manual date: stored as a source, then all sources are evaluated. */
export function setDate(context: CommandContext, message: SetEnrollmentDate): CommandOutcome | Promise<CommandOutcome> {
  const { snapshot } = context;
  const { policy, row } = snapshot;
  if (typeof message.enrollment_date !== 'string' || !isDate(message.enrollment_date))
    return rejected(422, 'INVALID_DATE', 'enrollment_date must be a date, YYYY-MM-DD');
  const manual = { enrollment_date: message.enrollment_date, entered_by_user_id: message.actor_user_id ?? null };
  const facts: Facts = { ...snapshot.facts, manual };
  const candidate = {
    ...ofDate(manual.enrollment_date, facts),
    source_type: 'manual_entry' as const,
    source_ref: { entered_by_user_id: manual.entered_by_user_id },
  };
  if (facts.anchor.status === 'finalized' && facts.anchor.date !== manual.enrollment_date) {
    return rejected(
      409,
      'OVERRIDE_REQUIRED',
      `the enrollment date is final (${facts.anchor.date}): a change needs an override`,
    );
  }
  // A final date that stays is not judged again.
  const faults = facts.anchor.status === 'finalized' ? null : validateCandidate(candidate, policy, facts);
  if (faults && faults.errors.length > 0)
    return {
      ...rejected(400, 'VALIDATION_FAILED', 'the enrollment date breaks a rule of the policy', faults),
      auditEntries: auditOfFailedRules(snapshot, message, {
        ...faults,
        result: 'refused',
        trace: { ...noTrace, validation: faults.trace },
      }),
    };
  const decision = evaluate(policy, facts);
  if (decision.result === 'override_required') {
    return rejected(
      409,
      'OVERRIDE_REQUIRED',
      `the enrollment date is final (${facts.anchor.date}) and its sources now say ` +
        `${decision.candidate!.date}: a change needs an override`,
    );
  }
  // The posted date itself is not allowed: it is refused like an override, and not stored.
  const guarded =
    decision.candidate?.source_type === 'manual_entry' && decision.errors.length > 0 && facts.anchor.reopened;
  if (guarded) return rejectedByRules(decision.errors);
  const reason = givenReason(message);
  return evaluationOutcome(
    { ...context, snapshot: { ...snapshot, facts } },
    decision,
    { sender: message, command: { kind: 'set', enrollment_date: manual.enrollment_date }, reason },
    {
      auditEntries: [
        {
          study_id: row.study_id,
          user_id: manual.entered_by_user_id,
          action: 'manual_date_entered',
          resource_type: 'participant',
          resource_id: row.participant_id,
          request_id: message.request_id?.slice(0, 36) ?? null,
          metadata: { value: manual.enrollment_date },
        },
        ...(decision.transitions.length === 0 ? auditOfFailedRules(snapshot, message, decision) : []),
      ],
      manualEntry: {
        replaces: snapshot.facts.manual !== null,
        entry: { study_id: row.study_id, reason, ...manual },
      },
    },
  );
}

/** Cancels a proposal, together with the manual date that it may have come from. */
export async function cancelProposedDate(
  { snapshot, scheduleInputs }: CommandContext,
  message: CancelProposal,
): Promise<CommandOutcome> {
  const { policy, row, facts } = snapshot;
  if (facts.anchor.status !== 'provisional')
    return rejected(409, 'NOT_PROVISIONAL', `only a proposal is cancelled; the anchor is ${facts.anchor.status}`);
  const guarded = reopenedGuards(policy, facts);
  if (guarded.length > 0) return rejectedByRules(guarded);
  const inputs = row.anchor.current_schedule_version_id === null ? undefined : await scheduleInputs();
  const transition = cancelTransition(facts.anchor);
  return {
    result: { result: 'cancelled', errors: [], warnings: [] },
    manualEntry: { replaces: facts.manual !== null, entry: null },
    decision: {
      snapshot,
      transitions: [transition],
      trace: noTrace,
      command: { kind: 'cancel' },
      sender: message,
      reason: givenReason(message),
      cancelledFacts: cancelledFacts(policy, { ...factsAfter(facts, transition), manual: null }),
      ...(inputs && { schedule: { inputs, date: null, reason: 'cancelled' } }),
    },
  };
}
