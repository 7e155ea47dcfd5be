import { chosenConsent } from './consent.js';
import type { ChosenConsent } from './consent.js';
import { StepBudget } from '../expressions/expression-budget.js';
import { candidateContext, expressionContext, runExpression } from '../expressions/expressions.js';
import type { ExpressionContext, RuleOutcome } from '../expressions/expressions.js';
import type { Policy } from './policy-schema.js';
import type { Candidate, ConsentFact, Facts } from '../util/types.js';

/**
 * Shared results of one decision, each computed on first use: sources, prerequisites and rules all need the consent
 * that counts, its day, and the variables of expressions. One for each decision.
 */
export class DecisionContext {
  private chosen: ChosenConsent | undefined;
  private variables: ExpressionContext | undefined;
  private readonly budget = new StepBudget();
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

  /** Runs an expression, within the steps that the decision has left. */
  run(expression: string, candidate: Candidate | null): RuleOutcome {
    return runExpression(expression, this.expressions(candidate), this.budget);
  }

  private choice(): ChosenConsent {
    return (this.chosen ??= chosenConsent(this.facts, this.policy));
  }
}
