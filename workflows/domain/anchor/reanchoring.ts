import { evaluate, isReopenedAndUnchanged } from './decide.js';
import type { Policy } from './policy-schema.js';
import { nextVersion } from './regeneration.js';
import type { KeyOf, NextVersion, ScheduleInputs } from './regeneration.js';
import type { Decision, Facts, Transition } from '../util/types.js';

export interface Reanchoring {
  /** The next schedule version and the date that it is made from; null: the schedule stays as it is. */
  schedule: { date: string; next: NextVersion } | null;
}

/**
 * What a study's change of its policy or of what policies read comes to for one participant: the decision on the
 * anchor, and whether the schedule would be another one. The same for the change itself and for its dry run.
 */
export function reanchor(
  policy: Policy,
  facts: Facts,
  inputs: ScheduleInputs,
  keyOf: KeyOf,
  from: ScheduleDate = 'anchor',
): Reanchoring & { decision: Decision } {
  const evaluated = evaluate(policy, facts);
  // What does not change its sources or prerequisites leaves a reopened anchor where it is.
  const decision: Decision = isReopenedAndUnchanged(policy, facts)
    ? { ...evaluated, result: 'unchanged', transitions: [] }
    : evaluated;
  return { decision, schedule: reschedule(policy, facts, inputs, keyOf, from, decision.transitions.at(-1)) };
}

/**
 * Which date the next schedule is made from: the anchor's, or the one that the present schedule has. The latter holds for
 * a change that was made before an override which asked for no new schedule, and whose walk comes after it.
 */
export type ScheduleDate = 'anchor' | 'schedule';

/**
 * The schedule that follows from the anchor as it stands (or as it stands after `last`). A change of windows, events,
 * calendars or mapping is this alone: the anchor is evaluated after a change of a source, a prerequisite or the policy
 * (decisions 5), and one that an override-back reopened stays provisional until then.
 */
export function reschedule(
  policy: Policy,
  facts: Facts,
  inputs: ScheduleInputs,
  keyOf: KeyOf,
  from: ScheduleDate = 'anchor',
  last?: Transition,
): Reanchoring['schedule'] {
  const hasCurrent = inputs.current_date !== null;
  const status = last?.status_after ?? facts.anchor.status;
  const due = hasCurrent || status === 'finalized' || (status === 'provisional' && policy.schedule_on_provisional);
  const stays = from === 'schedule' ? inputs.current_date : null;
  const date = last?.value?.date ?? stays ?? facts.anchor.date ?? inputs.current_date;
  if (!due || date === null) return null;
  const next = nextVersion(date, inputs, keyOf);
  return !hasCurrent || inputs.current_date !== date || next.change.changes ? { date, next } : null;
}
