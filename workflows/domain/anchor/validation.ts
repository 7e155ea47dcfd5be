import { daysBetween } from '../util/dates.js';
import type { Policy } from './policy-schema.js';
import { DecisionContext } from './decision-context.js';
import type { Candidate, Facts, Fault, Trace } from '../util/types.js';

export interface Validation {
  errors: Fault[];
  warnings: Fault[];
  trace: Trace['validation'];
}

/**
 * Validates a candidate against every rule of the policy; returns all faults. Instants are compared as dates in the
 * policy's time zone.
 */
export function validateCandidate(
  candidate: Candidate,
  policy: Policy,
  facts: Facts,
  context = new DecisionContext(policy, facts),
): Validation {
  const { validation, re_anchoring } = policy;
  const errors: Fault[] = [];
  const warnings: Fault[] = [];
  const trace: Trace['validation'] = [];
  const check = (rule: string, passed: boolean, fault: () => Fault, into = errors) => {
    trace.push({ rule, passed });
    if (!passed) into.push(fault());
  };
  const { date } = candidate;
  const { consentDate } = context;

  if (validation.cannot_be_future) {
    check('cannot_be_future', date <= facts.today, () => ({
      code: 'FUTURE_DATE',
      message: `${date} lies after today, ${facts.today} in ${facts.zone}`,
    }));
  }
  if (validation.cannot_precede_consent && consentDate) {
    check('cannot_precede_consent', date >= consentDate, () => ({
      code: 'BEFORE_CONSENT',
      message: `${date} lies before the consent of ${consentDate}`,
    }));
  }
  if (validation.cannot_precede_study_start && facts.study.start_date) {
    const start = facts.study.start_date;
    check('cannot_precede_study_start', date >= start, () => ({
      code: 'BEFORE_STUDY_START',
      message: `${date} lies before the study's start on ${start}`,
    }));
  }
  if (validation.max_days_from_consent !== undefined && consentDate) {
    const most = validation.max_days_from_consent;
    const days = daysBetween(consentDate, date);
    check('max_days_from_consent', days <= most, () => ({
      code: 'TOO_FAR_FROM_CONSENT',
      message: `${date} lies ${days} days after the consent of ${consentDate}; the policy allows ${most}`,
    }));
  }
  for (const rule of validation.custom_rules ?? []) {
    const outcome = context.run(rule.expression, candidate);
    check(
      rule.id,
      outcome.ok && outcome.value === true,
      () =>
        outcome.ok
          ? { code: 'CUSTOM_RULE', rule: rule.id, message: notPassed(rule) }
          : { code: 'RULE_ERROR', rule: rule.id, message: `${nameOf(rule)}: ${notPassed(rule)} (${outcome.reason})` },
      rule.severity === 'warning' ? warnings : errors,
    );
  }
  if (re_anchoring.max_shift_days > 0 && facts.anchor.date) {
    const shift = Math.abs(daysBetween(facts.anchor.date, date));
    check(
      'max_shift_days',
      shift <= re_anchoring.max_shift_days,
      () => ({
        code: 'LARGE_SHIFT',
        message:
          `${date} is ${shift} days from ${facts.anchor.date}; more than ${re_anchoring.max_shift_days} deserve ` +
          'a second look',
      }),
      warnings,
    );
  }
  return { errors, warnings, trace };
}

type Rule = NonNullable<Policy['validation']['custom_rules']>[number];
/** Names and messages of older policies may be blank. */
const nameOf = ({ name, id }: Rule): string => (name.trim() === '' ? id : name);
const notPassed = (rule: Rule): string =>
  rule.error_message.trim() === '' ? `the rule "${nameOf(rule)}" is not passed` : rule.error_message;

/** The guards against moving a finalized anchor, from stored facts (`re_anchoring` of the policy). */
export function reAnchoringGuards(policy: Policy, facts: Facts): Fault[] {
  const { re_anchoring } = policy;
  const guard = (allowed: boolean, present: boolean, code: string, what: string): Fault[] =>
    !allowed && present
      ? [{ code: `NOT_ALLOWED_AFTER_${code}`, message: `the policy forbids moving the date after ${what}` }]
      : [];
  return [
    ...guard(re_anchoring.allow_after_scheduling, facts.stored.has_schedule, 'SCHEDULING', 'a schedule was made'),
    ...guard(re_anchoring.allow_after_data_entered, facts.stored.data_entered, 'DATA_ENTERED', 'data were entered'),
    ...guard(re_anchoring.allow_after_signature, facts.stored.signed, 'SIGNATURE', 'a form was signed'),
    ...guard(re_anchoring.allow_after_lock, facts.stored.locked, 'LOCK', 'a form was locked'),
  ];
}
