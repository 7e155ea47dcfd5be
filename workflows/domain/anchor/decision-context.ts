import { chosenConsent } from './consent.js';
import type { ChosenConsent } from './consent.js';
import { candidateContext, expressionContext } from '../expressions/expressions.js';
import type { ExpressionContext } from '../expressions/expressions.js';
import type { Policy } from './policy-schema.js';
import type { Candidate, ConsentFact, Facts } from '../util/types.js';

/**
 * What the parts of one decision look up again and again, each worked out when it is first asked for: sources,
 * prerequisites and rules all ask for the consent that counts, its day, and what expressions see. One a decision.
 */
export class DecisionContext {
  private chosen: ChosenConsent | undefined;
  private variables: ExpressionContext | undefined;
  constructor(
    private readonly policy: Policy,
    private readonly facts: Facts,
  ) {}

  /** The consent whose date counts; null where none does. */
  get consent(): ConsentFact | null {
    return this.choice().consent;
  }
  /** Its day in the policy's zone. */
  get consentDate(): string | null {
    return this.choice().date;
  }

  /** What an expression sees; `candidate` null before there is one. */
  expressions(candidate: Candidate | null): ExpressionContext {
    this.variables ??= expressionContext(this.facts, this.policy, null, this.choice());
    return candidate ? { ...this.variables, candidate: candidateContext(candidate) } : this.variables;
  }

  private choice(): ChosenConsent {
    return (this.chosen ??= chosenConsent(this.facts, this.policy));
  }
}
