import { dateIn, yearsBetween } from '../util/dates.js';
import { fieldsOf, formItemsOf } from '../expressions/expressions.js';
import { completePolicy, expressionsOf, sourcesInOrder } from './policy.js';
import type { Policy, PolicyInput } from './policy-schema.js';
import type { AnchorState, Facts, PersonalFacts } from '../util/types.js';

/** The stored facts for a decision (db/participants/facts.queries.ts returns rows of this shape). */
export interface StoredFacts {
  now: string;
  policy: unknown;
  study: { start_date: string | null; timezone: string; consent_mode: 'none' | 'external' | 'econsent' };
  participant: {
    status: 'enrolled' | 'withdrawn';
    site_code: string | null;
    arm: string | null;
    preferred_language: string | null;
    date_of_birth: string | null;
  };
  site_timezone: string | null;
  anchor: {
    enrollment_date_value: string | null;
    enrollment_datetime_value: string | null;
    partial_value: string | null;
    precision: string;
    timezone: string | null;
    source_type: string | null;
    source_ref: Record<string, unknown> | null;
    status: string;
    is_override: boolean;
    version: number;
    reopened: boolean;
    reopened_facts: string | null;
    cancelled_facts: string | null;
  };
  consents: Facts['consents'];
  eligibility: Facts['eligibility'];
  randomization: { id: string; arm: string; randomized_at: string } | null;
  forms: Facts['forms'];
  baseline: Facts['baseline'];
  manual: Facts['manual'];
  capture: { form_oid: string | null; item_oid: string | null } | null;
  stored: Facts['stored'];
  before_override: {
    date: string;
    datetime: string | null;
    partial: string | null;
    precision: string;
    timezone: string | null;
    source_type: string;
    source_ref: Record<string, unknown> | null;
  } | null;
}

/** Stored policies are never changed once read: participants of one study share one. */
const completed = new WeakMap<object, Policy>();

/** The study's policy, complete: sections missing in an older one have their defaults. */
export function policyOf(stored: unknown): Policy {
  if (typeof stored !== 'object' || stored === null) return completePolicy({});
  let policy = completed.get(stored);
  if (!policy) completed.set(stored, (policy = completePolicy(stored as PolicyInput)));
  return policy;
}

/** The time zone that converts instants into dates: the site's, else the study's; the policy's own; or UTC. */
export function policyZone(policy: Policy, where: { site_timezone: string | null; study_timezone: string }): string {
  const { timezone_policy, study_timezone } = policy.time_precision;
  if (timezone_policy === 'utc') return 'UTC';
  if (timezone_policy === 'study_timezone') return study_timezone ?? where.study_timezone;
  return where.site_timezone ?? where.study_timezone;
}

/** What a decision is made of, by the study's own policy. */
export function policyAndFacts(row: StoredFacts): { policy: Policy; facts: Facts } {
  const policy = policyOf(row.policy);
  return { policy, facts: factsOf(row, policy) };
}

/** The snapshot for a decision: only the facts that the policy reads. */
export function factsOf(row: StoredFacts, policy: Policy): Facts {
  const zone = policyZone(policy, { site_timezone: row.site_timezone, study_timezone: row.study.timezone });
  const today = dateIn(row.now, zone);
  const { status, date_of_birth, ...personal } = row.participant;
  const named = namedBy(policy);
  const captureMapping =
    row.capture?.form_oid && row.capture.item_oid
      ? { form_oid: row.capture.form_oid, item_oid: row.capture.item_oid }
      : null;
  return {
    anchor: anchorOf(row.anchor),
    zone,
    now: row.now,
    today,
    study: { start_date: row.study.start_date, timezone: row.study.timezone, consent_mode: row.study.consent_mode },
    participant: {
      status,
      ...only(named.participant, {
        ...personal,
        age_years: date_of_birth === null ? null : yearsBetween(date_of_birth, today),
      }),
    },
    consents: row.consents,
    eligibility: row.eligibility,
    randomization: row.randomization && asNamed(row.randomization, named.randomization),
    forms: namedItems(row.forms, named.forms, captureMapping),
    baseline: row.baseline,
    manual: row.manual,
    captureMapping,
    stored: row.stored,
    beforeOverride: row.before_override && {
      ...row.before_override,
      precision: row.before_override.precision as AnchorState['precision'],
      source_type: row.before_override.source_type as NonNullable<AnchorState['source_type']>,
    },
  };
}

const anchorOf = (stored: StoredFacts['anchor']): AnchorState => ({
  date: stored.enrollment_date_value,
  datetime: stored.enrollment_datetime_value,
  partial: stored.partial_value,
  precision: stored.precision as AnchorState['precision'],
  timezone: stored.timezone,
  status: stored.status as AnchorState['status'],
  source_type: stored.source_type as AnchorState['source_type'],
  source_ref: stored.source_ref,
  is_override: stored.is_override,
  version: stored.version,
  reopened: stored.reopened,
  reopened_facts: stored.reopened_facts,
  cancelled_facts: stored.cancelled_facts,
});

/**
 * The names that a policy's mappings and expressions use. Fields of a variable that is used as a whole: null, any of
 * them.
 */
interface Named {
  forms: ReadonlyMap<string, ReadonlySet<string>>;
  participant: ReadonlySet<string> | null;
  randomization: ReadonlySet<string> | null;
}

/** A policy is immutable once read, and one serves all decisions of a simulation. */
const known = new WeakMap<Policy, Named>();

function namedBy(policy: Policy): Named {
  let named = known.get(policy);
  if (!named) {
    const expressions = expressionsOf(policy).map(({ expression }) => expression);
    named = {
      forms: itemsNamed(policy, expressions),
      participant: fieldsNamed(expressions, 'participant'),
      randomization: fieldsNamed(expressions, 'randomization'),
    };
    known.set(policy, named);
  }
  return named;
}

function itemsNamed(policy: Policy, expressions: readonly string[]): Named['forms'] {
  const named = new Map<string, Set<string>>();
  const name = (form: string, item: string) => named.set(form, (named.get(form) ?? new Set()).add(item));
  for (const { form_mapping } of sourcesInOrder(policy))
    if (form_mapping) name(form_mapping.form_oid, form_mapping.item_oid);
  for (const expression of expressions)
    for (const item of formItemsOf(expression) ?? []) name(item.form_oid, item.item_oid);
  return named;
}

function fieldsNamed(expressions: readonly string[], variable: string): ReadonlySet<string> | null {
  const each = expressions.map((expression) => fieldsOf(expression, variable));
  return each.includes(null) ? null : new Set(each.flatMap((fields) => fields ?? []));
}

const only = (named: ReadonlySet<string> | null, fields: PersonalFacts): Partial<PersonalFacts> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => named === null || named.has(name)));

/** Its time is read as a date; only expressions read the arm. */
const asNamed = (
  { arm, ...randomization }: NonNullable<StoredFacts['randomization']>,
  named: Named['randomization'],
): Facts['randomization'] => (named === null || named.has('arm') ? { ...randomization, arm } : randomization);

/** Only the form items that the policy names, and the one with the capture system's date. */
function namedItems(forms: Facts['forms'], named: Named['forms'], capture: Facts['captureMapping']): Facts['forms'] {
  const isNamed = (form: string, item: string) =>
    named.get(form)?.has(item) === true || (capture?.form_oid === form && capture.item_oid === item);
  return forms
    .filter(({ form_oid }) => named.has(form_oid) || capture?.form_oid === form_oid)
    .map((form) => ({
      ...form,
      items: Object.fromEntries(Object.entries(form.items).filter(([item]) => isNamed(form.form_oid, item))),
    }));
}
