import type { AuditEntry } from '../../../db/audit/audit.js';
import type {
  LockedOverrideRequest,
  NewOverrideRequest,
  RequestEnd,
} from '../../../db/anchor/override-request-writes.queries.js';
import type { Signature } from '../../../db/models/records.js';
import type { AnchorOutcome, Sender } from '../../../workflows/contract.js';
import { failedRules, overrideRefusalCode } from '../../../workflows/domain/anchor/decide.js';
import type { ScheduleInputs } from '../../../workflows/domain/anchor/regeneration.js';
import type { DecisionCommand } from '../../../workflows/domain/anchor/rederive.js';
import { isVisible } from '../../../workflows/domain/util/visible.js';
import type { Facts, Fault, Trace, Transition } from '../../../workflows/domain/util/types.js';
import type { Via } from '../authorization.js';
import type { ScheduleOrder } from '../schedule.js';
import type { AnchorSnapshot } from '../snapshot.js';

/** The input of a command's decision. Deciding writes nothing, and takes new ids from here. */
export interface CommandContext {
  snapshot: AnchorSnapshot;
  /** The override request that the command is about, locked. */
  request: LockedOverrideRequest | undefined;
  /** The approver's signature for that request. */
  signature: Signature | undefined;
  /** Reads the inputs of the next schedule version: a decision that makes none needs none. */
  scheduleInputs: () => Promise<ScheduleInputs>;
  newIds: { overrideRequest: string; scheduleVersion: string };
}

/** The result for a command's sender, before the following state is known. */
export type CommandResult = Omit<AnchorOutcome, 'waiting'> & {
  /** Set if the anchor is now final and waits for nothing: its new state need not be read again. */
  final?: { version: number; enrollment_date_value: string | null; current_schedule_version_id: string | null };
  trace?: unknown;
  facts?: Facts;
};

/** The outcome of a command: its result, and everything that `writeOutcome` writes. Creating one writes nothing. */
export interface CommandOutcome {
  result: CommandResult;
  /** Audit records of the command itself; those of its decision follow. */
  auditEntries?: readonly AuditEntry[];
  /** The manual date that counts from now on; null: none. `replaces`: it replaces an existing one. */
  manualEntry?: { replaces: boolean; entry: ManualEntry | null };
  overrideRequest?: OverrideRequestChange;
  decision?: AnchorDecision;
  approverNotice?: ApproverNotice;
}

export interface ManualEntry {
  study_id: string;
  enrollment_date: string;
  entered_by_user_id: string | null;
  reason: string | null;
}

export type OverrideRequestChange =
  | { kind: 'create'; request: NewOverrideRequest }
  | { kind: 'end'; id: string; end: RequestEnd }
  | { kind: 'reminded'; id: string };

/** The approvers to notify of a request, and the occasion. */
export interface ApproverNotice {
  requestId: string;
  requestedBy: string;
  occasion: 'asked' | 'reminded';
}

/** One participant's decision, to be written. */
export interface AnchorDecision {
  snapshot: AnchorSnapshot;
  transitions: readonly Transition[];
  trace: Trace;
  /** The request, for the record beside the decision. */
  command: DecisionCommand;
  sender: Sender;
  reason: string | null;
  /** Set on a granted override. */
  override?: { requested_by: string; approved_by: string | null };
  approver?: string | null;
  /** The change of the schedule; absent: none. */
  schedule?: Omit<ScheduleOrder, 'snapshot' | 'anchorVersion' | 'generatedBy'>;
  cancelledFacts?: string | null;
  /** Set if an override-back reopens the anchor: the facts that must change before it moves automatically. */
  reopenedFacts?: string;
  denialReason?: string | null;
  /** The route to a decision without a message, for its audit record. */
  via?: Via;
}

/**
 * The audit record of rules that failed as a person asked for a decision, with its trace; none if no rule failed. For a
 * decision without a history entry, which has the trace otherwise.
 */
export function auditOfFailedRules(
  { row }: AnchorSnapshot,
  asked: Sender,
  decision: { result: CommandResult['result']; errors: Fault[]; warnings: Fault[]; trace: Trace },
): AuditEntry[] {
  const rules = [...new Set(failedRules([...decision.errors, ...decision.warnings]).map(({ rule }) => rule))];
  if (rules.length === 0) return [];
  return [
    {
      study_id: row.study_id,
      user_id: asked.actor_user_id ?? null,
      action: 'anchor_rule_failed',
      resource_type: 'participant',
      resource_id: row.participant_id,
      request_id: asked.request_id?.slice(0, 36) ?? null,
      metadata: { result: decision.result, rules, trace: decision.trace },
    },
  ];
}

/** The reason that a person gave; one in which there is nothing to see is none. */
export const givenReason = ({ reason }: { reason?: string | null }): string | null =>
  typeof reason === 'string' && isVisible(reason) ? reason : null;

export const noTrace: Trace = { sources: [], validation: [], prerequisites: [] };

/** A refusal with the contract's status and code. It only writes the audit log. */
export const rejected = (
  status: number,
  code: string,
  detail: string,
  faults: { errors?: Fault[]; warnings?: Fault[] } = {},
): CommandOutcome => ({
  result: {
    result: 'refused',
    refused: { status, code, detail },
    errors: faults.errors ?? [],
    warnings: faults.warnings ?? [],
  },
});

/** The refusal of what needs a reason and has none. */
export const reasonRequired = (detail: string): CommandOutcome =>
  rejected(400, 'REASON_REQUIRED', detail, {
    errors: [{ path: 'reason', code: 'REASON_REQUIRED', message: 'reason must not be empty' }],
  });

/**
 * The same for a message by hand that leaves the reason out: refused as a request of the API without it. One that is
 * there and blank is `REASON_REQUIRED`.
 */
export const reasonMissing = (message: string): CommandOutcome =>
  rejected(422, 'VALIDATION_FAILED', 'reason is required', { errors: [{ path: 'reason', code: 'REQUIRED', message }] });

/** The refusal of a date by rules and guards, with all their messages. */
export const rejectedByRules = (errors: Fault[], warnings: Fault[] = []): CommandOutcome =>
  rejected(400, overrideRefusalCode(errors), errors.map(({ message }) => message).join('; '), { errors, warnings });
