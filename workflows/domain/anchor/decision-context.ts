import { chosenConsent } from './consent.js';
import type { ChosenConsent } from './consent.js';
import { candidateContext, expressionContext } from '../expressions/expressions.js';
import type { ExpressionContext } from '../expressions/expressions.js';
import type { Policy } from './policy-schema.js';
import type { Candidate, ConsentFact, Facts } from '../util/types.js';

/**
 * Shared results of one decision, each computed on first use: sources, prerequisites and rules all need the consent
 * that counts, its day, and the variables of expressions. One for each decision.
 */
export class DecisionContext {
  private chosen: ChosenConsent | undefined;
  private variables: ExpressionContext | undefined;
  constructor(
    private readonly policy: Policy,
    private readonly facts: Facts,
  ) {}

  /** The consent whose date counts; null: none. */
  get consent(): ConsentFact | null {
    return this.choice().consent;
  }
  /** Its day in the policy's time zone. */
  get consentDate(): string | null {
    return this.choice().date;
  }

  /** The variables of an expression; `candidate` is null before there is one. */
  expressions(candidate: Candidate | null): ExpressionContext {
    this.variables ??= expressionContext(this.facts, this.policy, null, this.choice());
    return candidate ? { ...this.variables, candidate: candidateContext(candidate) } : this.variables;
  }

  private choice(): ChosenConsent {
    return (this.chosen ??= chosenConsent(this.facts, this.policy));
  }
}
