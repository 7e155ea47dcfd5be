import type { AuditEntry } from '../../../db/audit/audit.js';
import type { NewOverrideRequest, RequestEnd } from '../../../db/anchor/override-request-writes.queries.js';
import type { AnchorOutcome, Sender } from '../../../workflows/contract.js';
import { overrideRefusalCode } from '../../../workflows/domain/anchor/decide.js';
import type { ScheduleInputs } from '../../../workflows/domain/anchor/regeneration.js';
import type { DecisionCommand } from '../../../workflows/domain/anchor/rederive.js';
import type { Facts, Fault, Trace, Transition } from '../../../workflows/domain/util/types.js';
import type { ScheduleOrder } from '../schedule.js';
import type { AnchorSnapshot } from '../snapshot.js';

/** What the sender of a command is told, before the state that follows from it is known. */
export type CommandResult = Omit<AnchorOutcome, 'waiting'> & {
  /** Set where the anchor is final now and waits for nothing: its new state need not be read again. */
  final?: { version: number; enrollment_date_value: string | null; current_schedule_version_id: string | null };
  trace?: unknown;
  facts?: Facts;
};

/** What a command comes to: its result, and everything that `writeOutcome` writes of it. Making one writes nothing. */
export interface CommandOutcome {
  result: CommandResult;
  /** Audit records of the command itself; those of its decision follow them. */
  auditEntries?: readonly AuditEntry[];
  /** The date entered by hand that counts from now on; null: none does. `replaces`: there is one that gives way. */
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

/** Which approvers are to be told of a request, and on which occasion. */
export interface ApproverNotice {
  requestId: string;
  requestedBy: string;
  occasion: 'asked' | 'reminded';
}

/** An outcome that depends on the schedule as well: it is made when the inputs of the next version have been read. */
export interface NeedsSchedule {
  withSchedule: (inputs: ScheduleInputs) => CommandOutcome;
}

/** One participant's decision as it is to be written. */
export interface AnchorDecision {
  snapshot: AnchorSnapshot;
  transitions: readonly Transition[];
  trace: Trace;
  /** What was asked, for the record beside the decision. */
  command: DecisionCommand;
  sender: Sender;
  reason: string | null;
  /** Set on a granted override. */
  override?: { requested_by: string; approved_by: string | null };
  approver?: string | null;
  /** What the schedule is to become; absent: it stays. */
  schedule?: Omit<ScheduleOrder, 'snapshot' | 'anchorVersion' | 'generatedBy'>;
  cancelledFacts?: string | null;
  /** Set where an override-back reopens the anchor: what has to change before it moves by itself. */
  reopenedFacts?: string;
  denialReason?: string | null;
}

export const noTrace: Trace = { sources: [], validation: [], prerequisites: [] };

/** A refusal with the status and code that the contract gives the case. It changes nothing but the audit log. */
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

/** The refusal of a date by rules and guards, in all of their words. */
export const rejectedByRules = (errors: Fault[], warnings: Fault[] = []): CommandOutcome =>
  rejected(400, overrideRefusalCode(errors), errors.map(({ message }) => message).join('; '), { errors, warnings });
