import { dateIn, inCalendar, isDate, readDateItem } from '../util/dates.js';
import { sourcesInOrder } from './policy.js';
import type { Policy, PolicySource } from './policy-schema.js';
import { DecisionContext } from './decision-context.js';
import type { AnchorValue, Candidate, Facts, SourceTrace } from '../util/types.js';

type Reading = Candidate | { reason: string; error?: boolean };
type Reader = (source: PolicySource, facts: Facts, policy: Policy, context: DecisionContext) => Reading;

/**
 * Reads a source. An instant at an end of the calendar may be in a year without a written date in this time zone, and a
 * rule may compute one.
 */
function read(source: PolicySource, facts: Facts, policy: Policy, context: DecisionContext): Reading {
  const reading = readers[source.type](source, facts, policy, context);
  return 'reason' in reading || inCalendar(reading.date)
    ? reading
    : { reason: `its date in ${facts.zone} is not within the years 0001 to 9999` };
}

/** To add a source: CONTRIBUTING.md, "A source of the anchor date". */
const readers: Record<PolicySource['type'], Reader> = {
  consent_workflow: (_source, facts, policy, { consent, consentDate }) => {
    if (!consent?.signed_at) return { reason: 'no signed consent' };
    return {
      ...ofInstant(consent.signed_at, facts, policy, consentDate),
      source_type: 'consent_workflow',
      source_ref: { consent_instance_id: consent.id },
    };
  },
  eligibility_workflow: (_source, facts, policy) => {
    const { eligibility } = facts;
    if (eligibility?.status !== 'eligible' || !eligibility.confirmed_at)
      return { reason: 'eligibility is not confirmed' };
    return {
      ...ofInstant(eligibility.confirmed_at, facts, policy),
      source_type: 'eligibility_workflow',
      source_ref: { eligibility_assessment_id: eligibility.id },
    };
  },
  randomization: (_source, facts, policy) => {
    const { randomization } = facts;
    if (!randomization) return { reason: 'not randomized' };
    return {
      ...ofInstant(randomization.randomized_at, facts, policy),
      source_type: 'randomization',
      source_ref: { randomization_id: randomization.id },
    };
  },
  form_item: (source, facts, policy) => {
    const mapping = source.form_mapping!;
    const forms = facts.forms
      .filter(
        (form) =>
          form.form_oid === mapping.form_oid &&
          (form.status !== 'draft' || form.origin === 'datacapture') &&
          mapping.item_oid in form.items,
      )
      .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
    const form = forms[0];
    if (!form) return { reason: `no completed form ${mapping.form_oid} with ${mapping.item_oid}` };
    const read = readDateItem(form.items[mapping.item_oid], facts.zone, mapping.partial_date_handling);
    if (!read)
      return {
        reason: `${mapping.item_oid} cannot be read as a date (partial dates: ${mapping.partial_date_handling})`,
      };
    return {
      ...(read.instant
        ? ofInstant(read.instant, facts, policy)
        : { date: read.date, datetime: null, partial: read.partial, precision: read.precision, timezone: facts.zone }),
      source_type: 'form_item',
      source_ref: { form_instance_id: form.id, item_oid: mapping.item_oid, form_oid: mapping.form_oid },
    };
  },
  computed_rule: (source, facts, _policy, context) => {
    const { expression } = source.computed_rule!;
    const variables = context.expressions(null);
    const outcome = context.run(expression, null);
    if (!outcome.ok) return { reason: outcome.reason, error: true };
    if (typeof outcome.value !== 'string' || !isDate(outcome.value))
      return { reason: 'RULE_ERROR: the rule gave no date', error: true };
    return {
      ...ofDate(outcome.value, facts),
      source_type: 'computed_rule',
      source_ref: { expression, inputs: namedInputs(expression, variables) },
    };
  },
  manual_entry: (_source, facts) => {
    if (!facts.manual) return { reason: 'no date entered by hand' };
    return {
      ...ofDate(facts.manual.enrollment_date, facts),
      source_type: 'manual_entry',
      source_ref: { entered_by_user_id: facts.manual.entered_by_user_id },
    };
  },
};

/** A value that was given as a day. */
export const ofDate = (date: string, facts: Facts): AnchorValue => ({
  date,
  datetime: null,
  partial: null,
  precision: 'date',
  timezone: facts.zone,
});

/**
 * The value of an event's instant: its date in the policy's time zone; the instant is kept if the policy's precision is
 * datetime.
 */
function ofInstant(instant: string, facts: Facts, policy: Policy, day: string | null = null): AnchorValue {
  const precise = policy.time_precision.precision === 'datetime';
  return {
    date: day ?? dateIn(instant, facts.zone),
    datetime: precise ? instant : null,
    partial: null,
    precision: precise ? 'datetime' : 'date',
    timezone: facts.zone,
  };
}

/** The variables that an expression names, with their values, for source_ref. */
function namedInputs(expression: string, context: Record<string, unknown>): Record<string, unknown> {
  const named = Object.entries(context).filter(([name]) => new RegExp(`\\b${name}\\b`).test(expression));
  return JSON.parse(
    JSON.stringify(Object.fromEntries(named), (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    ),
  ) as Record<string, unknown>;
}

/** All sources in order: the capture system's mapped date comes last if the policy lists no form item. */
function sourcesOf(policy: Policy, facts: Facts): readonly PolicySource[] {
  const sources = sourcesInOrder(policy);
  if (!facts.captureMapping || sources.some((source) => source.type === 'form_item')) return sources;
  return [
    ...sources,
    {
      type: 'form_item',
      priority: (sources.at(-1)?.priority ?? 0) + 1,
      is_active: true,
      form_mapping: { ...facts.captureMapping, partial_date_handling: 'reject' },
    },
  ];
}

/** The first source with a valid date, in ascending priority, without inactive ones, and the result of each source. */
export function firstValidSource(
  policy: Policy,
  facts: Facts,
  context = new DecisionContext(policy, facts),
): { candidate: Candidate | null; trace: SourceTrace[] } {
  const trace: SourceTrace[] = [];
  let candidate: Candidate | null = null;
  for (const source of sourcesOf(policy, facts)) {
    const line = { type: source.type, priority: source.priority };
    if (!source.is_active) {
      trace.push({ ...line, outcome: 'inactive' });
    } else if (candidate) {
      trace.push({ ...line, outcome: 'not_reached' });
    } else {
      const reading = read(source, facts, policy, context);
      if ('reason' in reading) {
        trace.push({ ...line, outcome: reading.error ? 'error' : 'no_date', reason: reading.reason });
      } else {
        candidate = reading;
        trace.push({ ...line, outcome: 'chosen', date: reading.date });
      }
    }
  }
  return { candidate, trace };
}

/**
 * The identity of a source. Inputs of a rule (today's date, for example) may change every day without changing the
 * source.
 */
export const sourceIdentity = (ref: Record<string, unknown> | null) => ({ ...ref, inputs: undefined });

/** The facts behind the sources, as one text: it must change before anything is proposed after a cancel. */
export function sourceFingerprint(policy: Policy, facts: Facts, context = new DecisionContext(policy, facts)): string {
  return sourcesOf(policy, facts)
    .filter((source) => source.is_active)
    .map((source) => {
      const reading = read(source, facts, policy, context);
      return 'reason' in reading
        ? `${source.type}:-`
        : [source.type, reading.date, reading.datetime ?? '', JSON.stringify(sourceIdentity(reading.source_ref))].join(
            ':',
          );
    })
    .join('|');
}
