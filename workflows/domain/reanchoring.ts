import { evaluate } from './decide.js';
import type { Policy } from './policy-schema.js';
import { nextVersion } from './regeneration.js';
import type { KeyOf, NextVersion, ScheduleInputs } from './regeneration.js';
import type { Decision, Facts } from './types.js';

export interface Reanchoring {
  decision: Decision;
  /** The next schedule version and the date that it is made from; null: the schedule stays as it is. */
  schedule: { date: string; next: NextVersion } | null;
}

/**
 * What a study's change comes to for one participant: the decision on the anchor, and whether the schedule would be
 * another one. The same for the change itself and for its dry run.
 */
export function reanchor(policy: Policy, facts: Facts, inputs: ScheduleInputs, keyOf: KeyOf): Reanchoring {
  const decision = evaluate(policy, facts);
  const last = decision.transitions.at(-1);
  const hasCurrent = inputs.current_date !== null;
  const status = last?.status_after ?? facts.anchor.status;
  const due = hasCurrent || status === 'finalized' || (status === 'provisional' && policy.schedule_on_provisional);
  const date = last?.value?.date ?? facts.anchor.date ?? inputs.current_date;
  if (!due || date === null) return { decision, schedule: null };
  const next = nextVersion(date, inputs, keyOf);
  const makes = !hasCurrent || inputs.current_date !== date || next.change.changes;
  return { decision, schedule: makes ? { date, next } : null };
}
