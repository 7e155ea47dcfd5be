import type { WaitingState } from '../../workflows/contract.js';
import { evaluate } from '../../workflows/domain/decide.js';
import type { Case } from './context.js';

/**
 * What the participant's process waits for now, in words that an operator reads in the Temporal UI. Read after the
 * write.
 */
export function waitingState(current: Case, lastDecision: string): WaitingState {
  const { row, facts, policy } = current;
  const { anchor } = row;
  const pending = row.pending_override;
  const closed = row.participant.status === 'withdrawn';
  const waiting: string[] = [];
  if (!closed && pending) waiting.push('approval');
  if (!closed && anchor.status !== 'finalized') {
    const { candidate, trace } = evaluate(policy, facts);
    if (!candidate) waiting.push('date');
    waiting.push(...trace.prerequisites.filter((p) => !p.met).map((p) => p.name));
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
    pending_override: pending && {
      request_id: pending.id,
      remind_at: pending.reminded_at === null ? pending.remind_at : null,
      expires_at: pending.expires_at,
    },
  };
}

/** The state of a participant whose record is gone. */
export const goneState = (): WaitingState => ({
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
