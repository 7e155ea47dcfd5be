import { evaluateUnlessAtRest } from './decide.js';
import type { Policy } from './policy-schema.js';
import { nextVersion } from './regeneration.js';
import type { KeyOf, NextVersion, ScheduleInputs } from './regeneration.js';
import type { Decision, Facts, Transition } from '../util/types.js';

export interface Reanchoring {
  /** The next schedule version and its date; null: the schedule stays. */
  schedule: { date: string; next: NextVersion } | null;
}

/**
 * The effect on one participant of a study's change (its policy, or data that policies read): the decision on the
 * anchor, and whether the schedule changes. The same for the change itself and for its dry run.
 */
export function reanchor(
  policy: Policy,
  facts: Facts,
  inputs: ScheduleInputs,
  keyOf: KeyOf,
  from: ScheduleDate = 'anchor',
): Reanchoring & { decision: Decision } {
  const decision = evaluateUnlessAtRest(policy, facts);
  return { decision, schedule: reschedule(policy, facts, inputs, keyOf, from, decision.transitions.at(-1)) };
}

/**
 * The date of the next schedule: the anchor's, or the present schedule's. The latter is for a change made before an
 * override without regeneration, which reaches the participant after it.
 */
export type ScheduleDate = 'anchor' | 'schedule';

/**
 * The schedule of the current anchor (or of the anchor after `last`). A change of windows, events, calendars or mapping
 * only does this: the anchor is evaluated after a change of a source, a prerequisite or the policy, and one that an
 * override-back reopened stays provisional until then. Who has withdrawn, perhaps during the change, keeps the
 * schedule.
 */
export function reschedule(
  policy: Policy,
  facts: Facts,
  inputs: ScheduleInputs,
  keyOf: KeyOf,
  from: ScheduleDate = 'anchor',
  last?: Transition,
): Reanchoring['schedule'] {
  if (facts.participant.status === 'withdrawn') return null;
  const hasCurrent = inputs.current_date !== null;
  const status = last?.status_after ?? facts.anchor.status;
  const due = hasCurrent || status === 'finalized' || (status === 'provisional' && policy.schedule_on_provisional);
  const stays = from === 'schedule' ? inputs.current_date : null;
  const date = last?.value?.date ?? stays ?? facts.anchor.date ?? inputs.current_date;
  if (!due || date === null) return null;
  const next = nextVersion(date, inputs, keyOf);
  return !hasCurrent || inputs.current_date !== date || next.change.changes ? { date, next } : null;
}
