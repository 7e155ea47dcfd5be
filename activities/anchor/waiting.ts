import type { WaitingState } from '../../workflows/contract.js';
import { waitingConditions } from '../../workflows/domain/anchor/waiting.js';
import type { AnchorSnapshot } from './snapshot.js';

/** The waiting state of the participant's workflow, in words for the Temporal UI. Read after the write. */
export function waitingState(snapshot: AnchorSnapshot, lastDecision: string): WaitingState {
  const { row, facts, policy } = snapshot;
  const { anchor } = row;
  const pending = row.pending_override;
  const { closed, waiting_for, date_ahead, rule_errors } = waitingConditions(policy, facts, pending !== null);
  return {
    status: anchor.status as WaitingState['status'],
    version: anchor.version,
    enrollment_date: anchor.enrollment_date_value,
    schedule_version_id: anchor.current_schedule_version_id,
    waiting_for,
    since: pending?.requested_at ?? anchor.updated_at,
    last_decision: lastDecision,
    closed,
    date_ahead,
    ...(rule_errors.length > 0 && { rule_errors }),
    pending_override: pending && {
      request_id: pending.id,
      remind_at: pending.reminded_at === null ? pending.remind_at : null,
      expires_at: pending.expires_at,
    },
  };
}

/** The state of a deleted participant. */
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
