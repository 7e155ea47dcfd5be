import { cancelTransition, evaluate, judgeOverride, judgeOverrideBack, noTransition } from './decide.js';
import type { Policy } from './policy-schema.js';
import { sameJson } from '../util/same.js';
import type { Facts, Trace, Transition } from '../util/types.js';

/** The command behind an entry, as stored beside it. `entry` counts the command's entries from 0. */
export type DecisionCommand = { entry?: number } & (
  | { kind: 'evaluate'; study_change?: string }
  | { kind: 'set'; enrollment_date: string }
  | {
      kind: 'override';
      new_enrollment_date: string;
      requested_by: string;
      regenerate_schedule: boolean;
      override_request_id?: string;
    }
  | {
      kind: 'decide_override';
      decision: 'approve';
      new_enrollment_date: string;
      requested_by: string;
      regenerate_schedule: boolean;
      override_request_id: string;
    }
  | { kind: 'decide_override'; decision: 'deny'; new_enrollment_date: string; override_request_id: string }
  | { kind: 'cancel' }
  | { kind: 'override_back' }
);

/** A stored decision: its snapshot, the command, and the result. */
export interface KeptDecision {
  policy: Policy;
  facts: Facts;
  command: DecisionCommand;
  trace: Trace;
  decision: Transition;
}

export interface Rederived {
  /** The present result for the snapshot; null: no entry at all. */
  decision: Transition | null;
  differences: ('decision' | 'trace')[];
}

interface Given {
  transitions: readonly Transition[];
  trace: Trace;
}
const nothing: Given = { transitions: [], trace: { sources: [], validation: [], prerequisites: [] } };

/**
 * Repeats a decision from its snapshot, its policy version and its command, and compares. Pure: the outcome tells
 * whether the program's present rules still give the same decision. An unreadable snapshot gives no decision.
 */
export function rederive(kept: KeptDecision): Rederived {
  let given: Given;
  try {
    given = decideAgain(kept);
  } catch (fault) {
    // Only a manipulated snapshot has another shape than the decision reads.
    if (fault instanceof TypeError || fault instanceof RangeError)
      return { decision: null, differences: ['decision', 'trace'] };
    throw fault;
  }
  const decision = given.transitions[kept.command.entry ?? 0] ?? null;
  const differences: Rederived['differences'] = [];
  if (!decision || !sameJson(decision, kept.decision)) differences.push('decision');
  if (!sameJson(essence(given.trace), essence(kept.trace))) differences.push('trace');
  return { decision, differences };
}

function decideAgain({ policy, facts, command }: KeptDecision): Given {
  switch (command.kind) {
    case 'evaluate':
      return evaluate(policy, facts);
    // The manual date is part of the snapshot: another date does not belong to this command.
    case 'set':
      return facts.manual?.enrollment_date === command.enrollment_date ? evaluate(policy, facts) : nothing;
    case 'override':
      return override(policy, facts, command, policy.permissions.override_requires_approval);
    case 'decide_override':
      return command.decision === 'approve'
        ? override(policy, facts, command, false)
        : { ...nothing, transitions: [noTransition(facts.anchor, 'OVERRIDE_DENIED')] };
    case 'cancel':
      return facts.anchor.status === 'provisional'
        ? { ...nothing, transitions: [cancelTransition(facts.anchor)] }
        : nothing;
    case 'override_back': {
      // Dates were not validated here once: a decision granted then is the same now.
      const { guards, transition, trace } = judgeOverrideBack(policy, facts);
      return {
        transitions: transition && guards.length === 0 && facts.anchor.status === 'finalized' ? [transition] : [],
        trace,
      };
    }
  }
}

function override(
  policy: Policy,
  facts: Facts,
  command: { new_enrollment_date: string; requested_by: string },
  asksFirst: boolean,
): Given {
  const { errors, transition, trace } = judgeOverride(policy, facts, command.new_enrollment_date, command.requested_by);
  if (errors.length > 0 || facts.anchor.status !== 'finalized') return { transitions: [], trace };
  return { transitions: [asksFirst ? noTransition(facts.anchor, 'OVERRIDE_REQUESTED') : transition], trace };
}

/** A trace without its wording, which may differ between releases. */
const essence = (trace: Trace): unknown => ({
  ...trace,
  sources: trace.sources.map(({ reason: _reason, ...source }) => source),
  prerequisites: trace.prerequisites.map(({ reason: _reason, ...prerequisite }) => prerequisite),
});
