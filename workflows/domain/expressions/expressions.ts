import { Environment } from '@marcbachmann/cel-js';
import type { ASTNode, ParseResult } from '@marcbachmann/cel-js';
import {
  BEGIN,
  CHARGED,
  COUNTED,
  DONE,
  JOINED,
  MACROS,
  MAX_STEPS,
  SOUGHT,
  StepBudget,
  beginTry,
  countedText,
  endTry,
  isOverBudget,
  startCounting,
  stopCounting,
  withCallSteps,
  withJoinedLength,
  withSearchSteps,
  withStepCount,
} from './expression-budget.js';
import { addDays, dateIn, daysBetween, dayOfWeek, isDate } from '../util/dates.js';
import { chosenConsent, consentsThatMayCount } from '../anchor/consent.js';
import type { Policy } from '../anchor/policy-schema.js';
import type { Candidate, Facts } from '../util/types.js';

/**
 * Expressions of a policy (CEL). Dates are `YYYY-MM-DD` text, whose order is that of the dates; of a person only
 * status, site, arm, language and age are visible. Unknown values are missing: `has(consent.date)` checks for it, and
 * reading one is a run-time error, which counts as no source or as the rule not passed.
 */
const integer = (value: bigint) => Number(value);
const date = (value: string): string => {
  if (!isDate(value)) throw new Error(`not a date: ${value}`);
  return value;
};

const environment = new Environment({
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 600, maxDepth: 40, maxListElements: 50, maxMapEntries: 50, maxCallArguments: 8 },
})
  .registerVariable({
    name: 'consent',
    schema: { status: 'string', date: 'string', signed_at: 'string', consent_version_id: 'string', count: 'int' },
  })
  .registerVariable({ name: 'eligibility', schema: { status: 'string', date: 'string', confirmed_at: 'string' } })
  .registerVariable({ name: 'randomization', schema: { arm: 'string', date: 'string', randomized_at: 'string' } })
  .registerVariable('forms', 'map<string, map<string, dyn>>')
  .registerVariable({
    name: 'visits',
    schema: { baseline: { status: 'string', completed_at: 'string', completed_date: 'string' } },
  })
  .registerVariable({
    name: 'study',
    schema: { start_date: 'string', timezone: 'string', today: 'string', consent_mode: 'string' },
  })
  .registerVariable({
    name: 'anchor',
    schema: { status: 'string', date: 'string', source_type: 'string', version: 'int', is_override: 'bool' },
  })
  .registerVariable({ name: 'candidate', schema: { date: 'string', source_type: 'string', precision: 'string' } })
  .registerVariable({
    name: 'participant',
    schema: { status: 'string', site_code: 'string', arm: 'string', preferred_language: 'string', age_years: 'int' },
  })
  .registerFunction('date(string): string', date)
  .registerFunction('addDays(string, int): string', (on: string, days: bigint) => addDays(date(on), integer(days)))
  .registerFunction('daysBetween(string, string): int', (from: string, to: string) =>
    BigInt(daysBetween(date(from), date(to))),
  )
  .registerFunction('dayOfWeek(string): int', (on: string) => BigInt(dayOfWeek(date(on))))
  .registerFunction('year(string): int', (on: string) => BigInt(date(on).slice(0, 4)))
  .registerFunction('month(string): int', (on: string) => BigInt(date(on).slice(5, 7)))
  .registerFunction('day(string): int', (on: string) => BigInt(date(on).slice(8, 10)))
  .registerFunction('earliest(string, string): string', (a: string, b: string) => (date(a) < date(b) ? a : b))
  .registerFunction('latest(string, string): string', (a: string, b: string) => (date(a) > date(b) ? a : b))
  .registerFunction('dateOf(string, string): string', (instant: string, zone: string) => dateIn(instant, zone));

/** The names that an expression may use, as described in docs/expressions.md. */
export const expressionNames = () => environment.getDefinitions();
/**
 * The same for execution: an expression that counts its steps has more nodes, and deeper nesting, than the original.
 */
const counting = environment
  .clone({ limits: { maxAstNodes: 20_000, maxDepth: 500 } })
  .registerFunction(`${COUNTED}(dyn): dyn`, withStepCount)
  .registerFunction(`${CHARGED}(int, dyn): dyn`, withCallSteps)
  .registerFunction(`${JOINED}(dyn, dyn): string`, withJoinedLength)
  .registerFunction(`${SOUGHT}(dyn): dyn`, withSearchSteps)
  .registerFunction(`${BEGIN}(): bool`, beginTry)
  .registerFunction(`${DONE}(dyn): dyn`, endTry);

export type ExpressionKind = 'rule' | 'date';
export interface ExpressionFault {
  message: string;
}

/** A regular expression can run forever, a binding can double a text at each step: neither is needed for a date. */
const REFUSED = new Set(['matches', 'bind']);

const remembered = <Made>(make: (expression: string) => Made) => {
  const made = new Map<string, Made>();
  return (expression: string): Made => {
    let found = made.get(expression);
    if (found === undefined) {
      found = make(expression);
      if (made.size > 1000) made.clear();
      made.set(expression, found);
    }
    return found;
  };
};
const parse = remembered((expression) => environment.parse(expression));
/** The executed form of an expression: it counts its steps unless its length limits them. */
const runnable = remembered((expression) => {
  const text = countedText(parse(expression).ast);
  return text === null ? parse(expression) : counting.parse(text);
});

/** Visits every node below `node`; `depth` counts the enclosing loops. */
function walk(node: unknown, visit: (op: string, args: unknown, loops: number) => void, loops = 0): void {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit, loops);
    return;
  }
  if (node === null || typeof node !== 'object' || !('op' in node)) return;
  const { op, args } = node as ASTNode;
  visit(String(op), args, loops);
  const name = callName(op, args);
  walk(args, visit, name !== null && MACROS.has(name) ? loops + 1 : loops);
}

const callName = (op: unknown, args: unknown): string | null =>
  (op === 'call' || op === 'rcall') && Array.isArray(args) ? String(args[0]) : null;

/** The fault of a policy's expression; null: none. Checked when a policy is saved. */
export function checkExpression(expression: string, kind: ExpressionKind): ExpressionFault | null {
  if (expression.length > 4000) return { message: 'is longer than 4,000 characters' };
  let tree: ParseResult;
  try {
    tree = parse(expression);
  } catch (fault) {
    return { message: sentenceOf(fault) };
  }
  const type = tree.check();
  if (!type.valid) return { message: sentenceOf(type.error) };
  if (kind === 'rule' && type.type !== 'bool' && type.type !== 'dyn')
    return { message: `must be true or false, but gives ${type.type}` };
  if (kind === 'date' && type.type !== 'string' && type.type !== 'dyn')
    return { message: `must give a date (text YYYY-MM-DD), but gives ${type.type}` };
  let fault: ExpressionFault | null = null;
  let macros = 0;
  walk(tree.ast, (op, args, loops) => {
    const name = callName(op, args);
    if (name !== null && REFUSED.has(name)) fault ??= { message: `uses ${name}(), which policies may not` };
    if (name !== null && MACROS.has(name)) {
      macros += name === 'map' ? 3 : 1;
      if (loops >= 2) fault ??= { message: 'nests more than two loops' };
    }
  });
  if (macros > 6) fault ??= { message: 'has too many loops' };
  return (
    fault ??
    (formItemsOf(expression) === null
      ? { message: 'must name form items as forms.FORM.ITEM or forms["FORM"]["ITEM"]' }
      : null)
  );
}

/** The fault and its place in one line: the parser draws the place below its sentence. */
function sentenceOf(fault: unknown): string {
  const text = (fault instanceof Error ? fault.message : String(fault)).trim();
  const sentence = text.split('\n', 1)[0]!.slice(0, 400);
  const drawn = /\n(> *(\d+) \| ).*\n( *)\^/.exec(text);
  return drawn ? `${sentence} (line ${drawn[2]}, column ${drawn[3]!.length - drawn[1]!.length + 1})` : sentence;
}

/** The form items that an expression names, so that a snapshot has only these; null: unknown. */
export function formItemsOf(expression: string): { form_oid: string; item_oid: string }[] | null {
  const items: { form_oid: string; item_oid: string }[] = [];
  let mentions = 0;
  let resolved = 0;
  walk(parse(expression).ast, (op, args) => {
    if (op === 'id' && args === 'forms') mentions++;
    const item = member({ op, args });
    const form = item && member(item.of);
    if (item && form && isId(form.of, 'forms')) {
      items.push({ form_oid: form.name, item_oid: item.name });
      resolved++;
    }
  });
  return mentions === resolved ? items : null;
}

/**
 * The fields of a variable that an expression names; null: it uses the variable as a whole, and may read any of them.
 */
export function fieldsOf(expression: string, variable: string): string[] | null {
  const fields: string[] = [];
  let mentions = 0;
  walk(parse(expression).ast, (op, args) => {
    if (op === 'id' && args === variable) mentions++;
    const field = member({ op, args });
    if (field && isId(field.of, variable)) fields.push(field.name);
  });
  return mentions === fields.length ? fields : null;
}

const isId = (node: unknown, name: string) =>
  typeof node === 'object' && node !== null && (node as ASTNode).op === 'id' && (node as ASTNode).args === name;
/** `of.name` or `of["name"]`; null for anything else. */
function member(node: unknown): { of: unknown; name: string } | null {
  if (typeof node !== 'object' || node === null || !('op' in node)) return null;
  const { op, args } = node as { op: string; args: unknown };
  if (!Array.isArray(args)) return null;
  if (op === '.') return { of: args[0], name: String(args[1]) };
  if (op === '[]') {
    const key = args[1] as ASTNode | undefined;
    return key?.op === 'value' && typeof key.args === 'string' ? { of: args[0], name: key.args } : null;
  }
  return null;
}

/** Removes unknown values: reading one is then an error, and has() returns false. */
function known(fields: Record<string, unknown>): Record<string, unknown> {
  const left: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== null && fields[name] !== undefined) left[name] = fields[name];
  return left;
}
const celValue = (value: unknown): unknown => {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (Array.isArray(value)) return value.map(celValue);
  return value;
};

export type ExpressionContext = Record<string, unknown>;

/**
 * An expression's variables from the facts. Built once for each decision (DecisionContext), which already knows the
 * consent that counts.
 */
export function expressionContext(
  facts: Facts,
  policy: Policy,
  candidate: Candidate | null,
  chosen = chosenConsent(facts, policy),
): ExpressionContext {
  const { consent, date: consentDate } = chosen;
  const baseline = facts.baseline.find((visit) => visit.status === 'completed') ?? facts.baseline[0];
  const forms: Record<string, Record<string, unknown>> = {};
  for (const form of facts.forms) {
    forms[form.form_oid] = Object.fromEntries(
      Object.entries(form.items).map(([item, value]) => [item, celValue(value)]),
    );
  }
  return {
    consent: known({
      status: consent?.status ?? consentsThatMayCount(facts, policy).at(-1)?.status ?? 'none',
      signed_at: consent?.signed_at,
      date: consentDate,
      consent_version_id: consent?.consent_version_id,
      count: BigInt(facts.consents.filter((c) => c.status === 'signed').length),
    }),
    eligibility: known({
      status: facts.eligibility?.status ?? 'none',
      confirmed_at: facts.eligibility?.confirmed_at,
      date: facts.eligibility?.confirmed_at && dateIn(facts.eligibility.confirmed_at, facts.zone),
    }),
    randomization: known({
      arm: facts.randomization?.arm,
      randomized_at: facts.randomization?.randomized_at,
      date: facts.randomization && dateIn(facts.randomization.randomized_at, facts.zone),
    }),
    forms,
    visits: {
      baseline: known({
        status: baseline?.status ?? 'none',
        completed_at: baseline?.completed_at,
        completed_date: baseline?.completed_at && dateIn(baseline.completed_at, facts.zone),
      }),
    },
    study: known({
      start_date: facts.study.start_date,
      timezone: facts.study.timezone,
      today: facts.today,
      consent_mode: facts.study.consent_mode,
    }),
    anchor: known({
      status: facts.anchor.status,
      date: facts.anchor.date,
      source_type: facts.anchor.source_type,
      version: BigInt(facts.anchor.version),
      is_override: facts.anchor.is_override,
    }),
    candidate: candidateContext(candidate),
    participant: known({
      ...facts.participant,
      age_years: facts.participant.age_years == null ? null : BigInt(facts.participant.age_years),
    }),
  };
}

/** An expression's variables of the candidate: empty without one. */
export const candidateContext = (candidate: Candidate | null): ExpressionContext =>
  candidate ? { date: candidate.date, source_type: candidate.source_type, precision: candidate.precision } : {};

export type RuleOutcome = { ok: true; value: unknown } | { ok: false; reason: string };

const overBudget = (what: string): RuleOutcome => ({
  ok: false,
  reason: `RULE_ERROR: ${what} more than ${MAX_STEPS.toLocaleString('en')} steps`,
});

const formsNamed = remembered((expression) => [
  ...new Set((formItemsOf(expression) ?? []).map(({ form_oid }) => form_oid)),
]);

/** A form that is not there has no items: `has(forms.FORM.ITEM)` is then false, and reading the item is an error. */
function withNamedForms(expression: string, context: ExpressionContext): ExpressionContext {
  const forms = context.forms as Record<string, unknown>;
  const absent = formsNamed(expression).filter((form) => !Object.hasOwn(forms, form));
  if (absent.length === 0) return context;
  return { ...context, forms: { ...forms, ...Object.fromEntries(absent.map((form) => [form, {}])) } };
}

/**
 * Runs an expression; a run-time error or an exceeded budget is a result, never thrown.
 * @param variables `expressionContext`
 * @param budget shared by the expressions of one decision
 */
export function runExpression(
  expression: string,
  variables: ExpressionContext,
  budget = new StepBudget(),
): RuleOutcome {
  const isFirst = budget.spent === 0;
  const over = () => overBudget(isFirst ? 'it takes' : 'it takes, together with the expressions before it,');
  if (budget.spent > MAX_STEPS) return over();
  startCounting(budget);
  try {
    const value: unknown = runnable(expression)(withNamedForms(expression, variables));
    return isOverBudget() ? over() : { ok: true, value };
  } catch (fault) {
    if (isOverBudget()) return over();
    return { ok: false, reason: `RULE_ERROR: ${faultAsWritten(expression, variables, fault)}` };
  } finally {
    stopCounting(budget);
  }
}

/** The error with its place in the original expression, which takes no more steps than were counted. */
function faultAsWritten(expression: string, context: Record<string, unknown>, fault: unknown): string {
  try {
    parse(expression)(withNamedForms(expression, context));
  } catch (sameFault) {
    return withoutValue(expression, sentenceOf(sameFault));
  }
  return withoutValue(expression, sentenceOf(fault));
}

/** The sentences that end with a value: it may be a person's, and sentences are stored for good. */
const QUOTING = new RegExp(
  `^(not a date|No such key|Invalid regular expression|Invalid duration string|integer overflow): ` +
    String.raw`(.*?)( \(line \d+, column \d+\))?$`,
  's',
);

function withoutValue(expression: string, sentence: string): string {
  const [, what, value, place = ''] = QUOTING.exec(sentence) ?? [];
  return what === undefined || expression.includes(value!) ? sentence : `${what}${place}`;
}
