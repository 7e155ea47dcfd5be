import { Temporal } from 'temporal-polyfill';
import { dateIn, daysBetween } from '../util/dates.js';
import { prerequisites } from './prerequisites.js';
import type { Policy } from './policy-schema.js';
import { sameJson } from '../util/same.js';
import { DecisionContext } from './decision-context.js';
import { isCancelledAndUnchanged, isReopenedAndUnchanged } from './kept-facts.js';
import { firstValidSource, sourceIdentity, ofDate } from './sources.js';
import type {
  AnchorState,
  AnchorStatus,
  Candidate,
  Decision,
  Facts,
  Fault,
  HistoryType,
  SourceType,
  Trace,
  Transition,
} from '../util/types.js';
import { reAnchoringGuards, validateCandidate } from './validation.js';

/**
 * Returns the decision for the anchor, from sources, validation, prerequisites and transition. Transitions are repeated
 * until none is left (a changed date whose prerequisites are met is CHANGED, then FINALIZED). Pure: no clock, no local
 * time zone; the same facts always give the same decision, which a re-derivation shows.
 */
export function evaluate(policy: Policy, facts: Facts): Decision {
  const context = new DecisionContext(policy, facts);
  const { candidate, trace: sources } = firstValidSource(policy, facts, context);
  const needed = prerequisites(policy, facts, candidate, context);
  const met = needed.every((p) => p.met);
  const decision: Decision = {
    result: 'none',
    transitions: [],
    errors: [],
    warnings: ruleErrors(sources, needed),
    candidate,
    prerequisites_met: met,
    trace: { sources, validation: [], prerequisites: needed },
  };
  const { anchor } = facts;
  if (facts.participant.status === 'withdrawn') return { ...decision, result: 'unchanged' };
  if (!candidate) return decision;
  if (isCancelledAndUnchanged(policy, facts)) return decision;
  if (anchor.status === 'finalized') return decideFinalized(policy, facts, candidate, decision, context);

  const validation = validateCandidate(candidate, policy, facts, context);
  decision.trace.validation = validation.trace;
  decision.warnings = [...decision.warnings, ...failedRules(validation.errors), ...validation.warnings];
  if (validation.errors.length > 0) return { ...decision, result: 'validation_failed', errors: validation.errors };

  if (anchor.status === 'unset') {
    return met
      ? { ...decision, result: 'set', transitions: [move(anchor, 'SET', 'finalized', candidate)] }
      : { ...decision, result: 'proposed', transitions: [move(anchor, 'PROPOSED', 'provisional', candidate)] };
  }
  const guarded = anchor.date === candidate.date ? [] : reopenedGuards(policy, facts);
  if (guarded.length > 0) return { ...decision, result: 'validation_failed', errors: guarded };
  const transitions: Transition[] = [];
  let current = anchor;
  if (differs(anchor, candidate)) {
    transitions.push(move(anchor, 'CHANGED', 'provisional', candidate));
    current = after(anchor, candidate);
  }
  if (met) transitions.push(move(current, 'FINALIZED', 'finalized', candidate));
  return { ...decision, result: met ? 'finalized' : transitions.length > 0 ? 'changed' : 'unchanged', transitions };
}

/** Rules that failed to run: they count as no source, or as not met, and need a person's attention. */
const ruleErrors = (sources: Trace['sources'], needed: Trace['prerequisites']): Fault[] => [
  ...sources
    .filter(({ outcome }) => outcome === 'error')
    .map(({ type, reason }) => ({ code: 'RULE_ERROR', rule: type, message: `${type}: ${reason}` })),
  ...needed.flatMap(({ name, reason }) =>
    reason === undefined ? [] : [{ code: 'RULE_ERROR', rule: name, message: `${name}: ${reason}` }],
  ),
];

/** Rules that failed to run stand in the warnings of an evaluation, also where they refuse the date. */
export const failedRules = (faults: readonly Fault[]): Fault[] => faults.filter(({ code }) => code === 'RULE_ERROR');

/** A finalized date moves only by an override, or by a re-consent that the policy allows to move it. */
function decideFinalized(
  policy: Policy,
  facts: Facts,
  candidate: Candidate,
  decision: Decision,
  context: DecisionContext,
): Decision {
  const { anchor } = facts;
  if (sameValue(anchor, candidate)) return { ...decision, result: 'unchanged' };
  const { anchor_consent, reconsent_updates_anchor } = policy.multi_consent;
  const followsConsent =
    anchor_consent === 'latest' &&
    reconsent_updates_anchor &&
    !anchor.is_override &&
    anchor.source_type === 'consent_workflow' &&
    candidate.source_type === 'consent_workflow' &&
    !isSameInFormerZone(anchor, candidate, context);
  if (!followsConsent) return { ...decision, result: 'override_required' };
  const validation = validateCandidate(candidate, policy, facts, context);
  const errors = [...validation.errors, ...reAnchoringGuards(policy, facts)];
  decision.trace.validation = validation.trace;
  decision.warnings = [...decision.warnings, ...failedRules(validation.errors), ...validation.warnings];
  if (errors.length > 0) return { ...decision, result: 'validation_failed', errors };
  return { ...decision, result: 'changed', transitions: [move(anchor, 'CHANGED', 'finalized', candidate)] };
}

/** Whether the date differs by the time zone alone: it is of the same consent, whose day it was in the zone of then. */
const isSameInFormerZone = (anchor: AnchorState, to: Candidate, { consent }: DecisionContext): boolean =>
  anchor.timezone !== null &&
  anchor.timezone !== to.timezone &&
  consent?.signed_at != null &&
  sameJson(anchor.source_ref, to.source_ref) &&
  dateIn(consent.signed_at, anchor.timezone) === anchor.date;

export interface OverrideJudgement {
  errors: Fault[];
  warnings: Fault[];
  transition: Transition;
  trace: Decision['trace'];
}

/**
 * Checks an override of a finalized date: validated like any date, and against the re-anchoring guards. The transition
 * is written when it is granted; it is only valid if `errors` is empty.
 */
export function judgeOverride(
  policy: Policy,
  facts: Facts,
  newDate: string,
  actorId: string | null,
): OverrideJudgement {
  const { anchor } = facts;
  const candidate: Candidate = {
    ...ofDate(newDate, facts),
    source_type: 'override',
    source_ref: { override_by_user_id: actorId, previous_source_type: anchor.source_type },
  };
  const context = new DecisionContext(policy, facts);
  const validation = validateCandidate(candidate, policy, facts, context);
  const errors =
    anchor.date === newDate
      ? [{ code: 'NO_CHANGE', message: `the date is ${newDate} already` }]
      : [...validation.errors, ...reAnchoringGuards(policy, facts)];
  return {
    errors,
    warnings: validation.warnings,
    transition: { ...move(anchor, 'OVERRIDE_GRANTED', 'finalized', candidate), is_override: true },
    trace: {
      sources: [],
      validation: validation.trace,
      prerequisites: prerequisites(policy, facts, candidate, context),
    },
  };
}

/**
 * The code of a refused override: the first guard if only guards refuse it, so that a caller need not search further.
 */
export function overrideRefusalCode(errors: readonly Fault[]): string {
  const [first] = errors;
  return first && (first.code === 'NO_CHANGE' || errors.every(({ code }) => code.startsWith('NOT_ALLOWED_AFTER_')))
    ? first.code
    : 'VALIDATION_FAILED';
}

/**
 * Reverts an override, or reopens an anchor never overridden: back to the present date of the sources, provisional. A
 * date that moves is validated like any date; one that stays is not. `guards` are those of `errors` that are not faults
 * of the date.
 */
export function judgeOverrideBack(
  policy: Policy,
  facts: Facts,
): { errors: Fault[]; guards: Fault[]; transition: Transition | null; trace: Decision['trace'] } {
  const context = new DecisionContext(policy, facts);
  const { candidate, trace: sources } = firstValidSource(policy, facts, context);
  const { anchor, beforeOverride } = facts;
  const stored: Candidate | null =
    anchor.date === null || anchor.source_type === null
      ? null
      : { ...anchor, date: anchor.date, source_type: anchor.source_type, source_ref: anchor.source_ref ?? {} };
  const value =
    candidate ??
    (anchor.is_override && beforeOverride
      ? { ...beforeOverride, source_ref: beforeOverride.source_ref ?? {} }
      : stored);
  const trace = { sources, validation: [], prerequisites: prerequisites(policy, facts, candidate, context) };
  if (!value) {
    const nothing = [{ code: 'NOTHING_TO_RETURN_TO', message: 'no source gives a date' }];
    return { errors: nothing, guards: nothing, transition: null, trace };
  }
  const moved = value.date !== anchor.date;
  const guards = moved ? reAnchoringGuards(policy, facts) : [];
  return {
    errors: moved ? [...validateCandidate(value, policy, facts, context).errors, ...guards] : [],
    guards,
    transition: move(anchor, 'CHANGED', 'provisional', value),
    trace,
  };
}

/**
 * The guards against moving an anchor that an override-back reopened. It was final, so another date re-anchors it like
 * an override would: reopening does not bypass the guards. A proposal that never was final moves with its sources.
 */
export const reopenedGuards = (policy: Policy, facts: Facts): Fault[] =>
  facts.anchor.reopened ? reAnchoringGuards(policy, facts) : [];

/**
 * A source's date that is refused only because it is in the future; null: none. It is evaluated again on its day,
 * without any change of a source.
 */
export const dateAhead = ({ result, candidate, errors }: Decision): string | null =>
  result === 'validation_failed' && candidate !== null && errors.every(({ code }) => code === 'FUTURE_DATE')
    ? candidate.date
    : null;

/** As `evaluate`, but a reopened anchor at rest stays as it is. */
export function evaluateUnlessAtRest(policy: Policy, facts: Facts): Decision {
  const decision = evaluate(policy, facts);
  return isReopenedAndUnchanged(policy, facts) ? { ...decision, result: 'unchanged', transitions: [] } : decision;
}

const NO_VALUE = {
  date: null,
  datetime: null,
  partial: null,
  precision: 'date',
  timezone: null,
  source_type: null,
  source_ref: null,
} as const satisfies Partial<AnchorState>;

/** The facts after a transition. */
export const factsAfter = (facts: Facts, { value, status_after, is_override }: Transition): Facts => ({
  ...facts,
  anchor: {
    ...facts.anchor,
    ...(value ?? NO_VALUE),
    status: status_after,
    is_override,
    version: facts.anchor.version + 1,
  },
});

/** Cancels a proposal: the value is cleared. */
export const cancelTransition = (anchor: AnchorState): Transition => ({
  event_type: 'CHANGED',
  status_before: anchor.status,
  status_after: 'unset',
  value: null,
  previous_date: anchor.date,
  previous_source_type: anchor.source_type,
  delta_days: null,
  is_override: false,
});

/** An entry without effect on the anchor: an override requested or denied. */
export const noTransition = (anchor: AnchorState, event_type: HistoryType): Transition => ({
  event_type,
  status_before: anchor.status,
  status_after: anchor.status,
  value:
    anchor.date === null || anchor.source_type === null
      ? null
      : { ...anchor, date: anchor.date, source_type: anchor.source_type, source_ref: anchor.source_ref ?? {} },
  previous_date: anchor.date,
  previous_source_type: anchor.source_type,
  delta_days: null,
  is_override: anchor.is_override,
});

function move(anchor: AnchorState, event_type: HistoryType, status_after: AnchorStatus, to: Candidate): Transition {
  return {
    event_type,
    status_before: anchor.status,
    status_after,
    value: {
      date: to.date,
      datetime: to.datetime,
      partial: to.partial,
      precision: to.precision,
      timezone: to.timezone,
      source_type: to.source_type,
      source_ref: to.source_ref,
    },
    previous_date: anchor.date,
    previous_source_type: anchor.source_type as SourceType | null,
    delta_days: anchor.date === null ? null : daysBetween(anchor.date, to.date),
    is_override: false,
  };
}

/** The same day, and the same instant if both have one. */
const sameValue = (anchor: AnchorState, to: Candidate) =>
  anchor.date === to.date &&
  (anchor.datetime === null ||
    to.datetime === null ||
    Temporal.Instant.compare(Temporal.Instant.from(anchor.datetime), Temporal.Instant.from(to.datetime)) === 0);

/** The date, its precision, or its source: a proposal also follows its source when the day stays. */
const differs = (anchor: AnchorState, to: Candidate) =>
  !sameValue(anchor, to) ||
  anchor.precision !== to.precision ||
  anchor.source_type !== to.source_type ||
  !sameJson(sourceIdentity(anchor.source_ref), sourceIdentity(to.source_ref));
const after = (anchor: AnchorState, to: Candidate): AnchorState => ({ ...anchor, ...to, status: 'provisional' });
