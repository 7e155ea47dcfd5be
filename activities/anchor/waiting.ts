import type { WaitingState } from '../../workflows/contract.js';
import { epochOf, startOfDay } from '../../workflows/domain/util/dates.js';
import { dateAhead, evaluate, isReopenedAndUnchanged } from '../../workflows/domain/anchor/decide.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import type { Decision, Fault } from '../../workflows/domain/util/types.js';
import type { AnchorSnapshot } from './snapshot.js';

/**
 * What the participant's process waits for now, in words that an operator reads in the Temporal UI. Read after the
 * write.
 */
export function waitingState(snapshot: AnchorSnapshot, lastDecision: string): WaitingState {
  const { row, facts, policy } = snapshot;
  const { anchor } = row;
  const pending = row.pending_override;
  const closed = row.participant.status === 'withdrawn';
  const waiting: string[] = [];
  if (!closed && pending) waiting.push('approval');
  let ahead: WaitingState['date_ahead'] = null;
  let ruleErrors: Fault[] = [];
  if (!closed && (anchor.status !== 'finalized' || mayFollowConsent(policy))) {
    const decision = evaluate(policy, facts);
    ruleErrors = [...decision.errors, ...decision.warnings].filter(({ code }) => code === 'RULE_ERROR');
    ahead = isReopenedAndUnchanged(policy, facts) ? null : awaitedDay(snapshot, decision);
    if (ahead || (!decision.candidate && anchor.status !== 'finalized')) waiting.push('date');
    if (anchor.status !== 'finalized')
      waiting.push(...decision.trace.prerequisites.filter((p) => !p.met).map((p) => p.name));
    if (waiting.length === 0 && anchor.reopened) waiting.push('evaluation');
  }
  return {
    status: anchor.status as WaitingState['status'],
    version: anchor.version,
    enrollment_date: anchor.enrollment_date_value,
    schedule_version_id: anchor.current_schedule_version_id,
    waiting_for: waiting,
    since: pending?.requested_at ?? anchor.updated_at,
    last_decision: lastDecision,
    closed,
    date_ahead: ahead,
    ...(ruleErrors.length > 0 && { rule_errors: ruleErrors }),
    pending_override: pending && {
      request_id: pending.id,
      remind_at: pending.reminded_at === null ? pending.remind_at : null,
      expires_at: pending.expires_at,
    },
  };
}

/** A final date moves by itself only where a later consent moves it. */
export const mayFollowConsent = ({ multi_consent }: Policy): boolean =>
  multi_consent.anchor_consent === 'latest' && multi_consent.reconsent_updates_anchor;

/** How long it is until the day of a source's date begins, by the database's clock alone. */
function awaitedDay({ facts }: AnchorSnapshot, decision: Decision): WaitingState['date_ahead'] {
  const date = dateAhead(decision);
  if (date === null) return null;
  const begins_at = startOfDay(date, facts.zone);
  return { date, begins_at, wait_ms: Math.max(epochOf(begins_at) - epochOf(facts.now), 1) };
}

/** The state of a participant whose record is gone. */
export const closedState = (): WaitingState => ({
  status: 'unset',
  version: 0,
  enrollment_date: null,
  schedule_version_id: null,
  waiting_for: [],
  since: '1970-01-01T00:00:00.000Z',
  last_decision: 'the participant was removed',
  closed: true,
  pending_override: null,
});
