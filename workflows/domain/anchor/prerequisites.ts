import { fieldsOf } from '../expressions/expressions.js';
import type { Policy } from './policy-schema.js';
import { DecisionContext } from './decision-context.js';
import type { Candidate, Facts } from '../util/types.js';

/** `reason`: why the rule failed to run. */
export interface Prerequisite {
  name: string;
  met: boolean;
  reason?: string;
}

/**
 * The prerequisites of a final date. If consent is managed elsewhere (`consent_mode` external or none) its prerequisite
 * counts as met.
 */
export function prerequisites(
  policy: Policy,
  facts: Facts,
  candidate: Candidate | null,
  context = new DecisionContext(policy, facts),
): Prerequisite[] {
  const {
    require_consent_signed,
    require_eligibility_confirmed,
    require_randomization,
    require_baseline_visit,
    custom_rule,
  } = policy.prerequisites;
  const list: Prerequisite[] = [];
  if (require_consent_signed)
    list.push({ name: 'consent', met: facts.study.consent_mode !== 'econsent' || context.consent !== null });
  if (require_eligibility_confirmed) list.push({ name: 'eligibility', met: facts.eligibility?.status === 'eligible' });
  if (require_randomization) list.push({ name: 'randomization', met: facts.randomization !== null });
  if (require_baseline_visit)
    list.push({ name: 'baseline_visit', met: facts.baseline.some((visit) => visit.status === 'completed') });
  if (custom_rule !== undefined) {
    const outcome = context.run(custom_rule, candidate);
    // Before there is a date, a rule about the date is not broken: it has nothing to read yet.
    const isEarly = candidate === null && namesCandidate(custom_rule);
    list.push({
      name: 'custom_rule',
      met: outcome.ok && outcome.value === true,
      ...(!outcome.ok && !isEarly && { reason: outcome.reason }),
    });
  }
  return list;
}

const namesCandidate = (expression: string): boolean => fieldsOf(expression, 'candidate')?.length !== 0;
