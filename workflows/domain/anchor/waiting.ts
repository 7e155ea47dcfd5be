import { epochOf, startOfDay } from '../util/dates.js';
import type { Decision, Facts, Fault } from '../util/types.js';
import { dateAhead, evaluate, failedRules } from './decide.js';
import { isReopenedAndUnchanged } from './kept-facts.js';
import type { Policy } from './policy-schema.js';

/** The waiting state of a participant's anchor, with the present result of its sources. */
export interface WaitingConditions {
  /** e.g. ["consent", "eligibility"], ["approval"], ["date"]; empty: nothing. */
  waiting_for: string[];
  /** The participant has withdrawn: nothing changes any more. */
  closed: boolean;
  rule_errors: Fault[];
  date_ahead: { date: string; begins_at: string; wait_ms: number } | null;
  /** The present evaluation; missing if only an override moves the date. */
  decision?: Decision;
}

/** Computes an anchor's waiting state: the participant's workflow and the console show the same. */
export function waitingConditions(policy: Policy, facts: Facts, hasPendingOverride: boolean): WaitingConditions {
  const { anchor } = facts;
  const closed = facts.participant.status === 'withdrawn';
  const waiting: string[] = [];
  if (closed || (anchor.status === 'finalized' && !mayFollowConsent(policy))) {
    if (!closed && hasPendingOverride) waiting.push('approval');
    return { waiting_for: waiting, closed, rule_errors: [], date_ahead: null };
  }
  if (hasPendingOverride) waiting.push('approval');
  const decision = evaluate(policy, facts);
  const ahead = isReopenedAndUnchanged(policy, facts) ? null : awaitedDay(facts, decision);
  // Without a date, with one that is refused, and after a cancel: it waits for a date that counts.
  const hasNone = anchor.status !== 'finalized' && ['none', 'validation_failed'].includes(decision.result);
  if (ahead || hasNone) waiting.push('date');
  if (anchor.status !== 'finalized')
    waiting.push(...decision.trace.prerequisites.filter(({ met }) => !met).map(({ name }) => name));
  if (waiting.length === 0 && anchor.reopened) waiting.push('evaluation');
  return {
    waiting_for: waiting,
    closed,
    rule_errors: failedRules(decision.warnings),
    date_ahead: ahead,
    decision,
  };
}

/** A final date moves automatically only with a later consent. */
export const mayFollowConsent = ({ multi_consent }: Policy): boolean =>
  multi_consent.anchor_consent === 'latest' && multi_consent.reconsent_updates_anchor;

/** The time until a source's future date begins, by the database's clock. */
function awaitedDay(facts: Facts, decision: Decision): WaitingConditions['date_ahead'] {
  const date = dateAhead(decision);
  if (date === null) return null;
  const begins_at = startOfDay(date, facts.zone);
  return { date, begins_at, wait_ms: Math.max(epochOf(begins_at) - epochOf(facts.now), 1) };
}
