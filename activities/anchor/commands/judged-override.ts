import { hashOf } from '../../../db/audit/hashing.js';
import type { Sender } from '../../../workflows/contract.js';
import { judgeOverride } from '../../../workflows/domain/anchor/decide.js';
import type { OverrideJudgement } from '../../../workflows/domain/anchor/decide.js';
import type { Impact } from '../../../workflows/domain/anchor/preview.js';
import type { DecisionCommand } from '../../../workflows/domain/anchor/rederive.js';
import { previewBasis, previewOf } from '../../../workflows/domain/anchor/regeneration.js';
import type { ScheduleInputs } from '../../../workflows/domain/anchor/regeneration.js';
import type { Fault } from '../../../workflows/domain/util/types.js';
import { auditOfFailedRules, rejectedByRules } from './outcome.js';
import type { CommandContext, CommandOutcome } from './outcome.js';
import { mayFollowConsent } from '../../../workflows/domain/anchor/waiting.js';

/** An override as it would be executed now. */
export interface Judged {
  date: string;
  regenerate: boolean;
  judgement: OverrideJudgement;
  inputs: ScheduleInputs;
  impact: Impact & { preview_hash: string };
}

/**
 * Checks an override against the current facts; for one that may be granted, its effect on the visits is computed. A
 * preview that differs from it is refused.
 */
export async function judgedOverride(
  { snapshot, scheduleInputs }: CommandContext,
  asked: Sender,
  { date, regenerate, requestedBy }: { date: string; regenerate: boolean; requestedBy: string },
  previewHash: string | null | undefined,
): Promise<Judged | { rejection: CommandOutcome }> {
  const { row, policy, facts, keyOf } = snapshot;
  const judgement = judgeOverride(policy, facts, date, requestedBy);
  const { errors, warnings } = judgement;
  if (errors.length > 0)
    return {
      rejection: {
        ...rejectedByRules(errors, warnings),
        auditEntries: auditOfFailedRules(snapshot, asked, { ...judgement, result: 'refused' }),
      },
    };
  const inputs = await scheduleInputs();
  const preview = previewOf(date, inputs, keyOf, {
    today: facts.today,
    warnings: warnings.map((w) => `${w.code}: ${w.message}`),
    regenerate,
  });
  const basis = { policy_version: row.policy_version, anchor_version: row.anchor.version, date, regenerate };
  const impact = { ...preview, preview_hash: hashOf(previewBasis(inputs, basis)) };
  if (previewHash && previewHash !== impact.preview_hash) return { rejection: stalePreview(impact) };
  return { date, regenerate, judgement, inputs, impact };
}

const stalePreview = (preview: Judged['impact']): CommandOutcome => ({
  result: {
    result: 'refused',
    errors: [],
    warnings: [],
    refused: { status: 409, code: 'PREVIEW_STALE', detail: 'what the preview showed has changed since', preview },
  },
});

/** Warnings: the same for an applied override and a pending one. */
export const warningsOf = ({ judgement, regenerate }: Judged): Fault[] =>
  regenerate
    ? judgement.warnings
    : [
        ...judgement.warnings,
        { code: 'SCHEDULE_NOT_REGENERATED', message: 'the schedule still follows the former date' },
      ];

/** The outcome of a granted override: the date moves, and its schedule if requested. */
export function grant(
  { snapshot, newIds }: CommandContext,
  override: Judged,
  sender: Sender,
  granted: {
    reason: string | null;
    who: { requested_by: string; approved_by: string | null };
    command: DecisionCommand;
  },
): CommandOutcome {
  const { date, regenerate, judgement, inputs, impact } = override;
  const { row, policy, facts } = snapshot;
  const made = regenerate ? newIds.scheduleVersion : null;
  return {
    result: {
      result: 'applied',
      errors: [],
      facts,
      impact,
      schedule_version_id: made,
      warnings: warningsOf(override),
      // If a later consent may move a final date, its sources are evaluated again.
      ...(!mayFollowConsent(policy) && {
        final: {
          version: facts.anchor.version + 1,
          enrollment_date_value: date,
          current_schedule_version_id: made ?? row.anchor.current_schedule_version_id,
        },
      }),
    },
    decision: {
      snapshot,
      transitions: [judgement.transition],
      trace: judgement.trace,
      sender,
      reason: granted.reason,
      override: granted.who,
      approver: granted.who.approved_by,
      command: granted.command,
      ...(regenerate && { schedule: { id: newIds.scheduleVersion, inputs, date, reason: 'override' } }),
    },
  };
}
