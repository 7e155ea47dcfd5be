import type { AuditEntry } from '../../db/audit/audit.js';
import type { DecisionWrite, HistoryWrite } from '../../db/anchor/anchor-writes.queries.js';
import { decisionHash } from '../../db/anchor/decisions.queries.js';
import type { EventInput } from '../../db/events/events.js';
import type { Transition } from '../../workflows/domain/util/types.js';
import type { AnchorDecision } from './commands/outcome.js';
import type { DecisionRows } from './decision-rows.js';

/** The records of a decision, written with it. */
export interface DecisionRecords {
  history: HistoryWrite[];
  decisions: DecisionWrite[];
  events: EventInput[];
  auditEntries: AuditEntry[];
}

/**
 * The records of a decision: for each entry of the history the facts and the trace behind it, the events for
 * subscribers, the audit record.
 * @param scheduleVersion the schedule version that it made; null: none
 */
export function recordsOf({ decision, entries }: DecisionRows, scheduleVersion: string | null): DecisionRecords {
  const records: DecisionRecords = { history: [], decisions: [], events: [], auditEntries: [] };
  const { row, facts } = decision.snapshot;
  entries.forEach(({ history, transition }, index) => {
    const written = { ...history, schedule_version_created_id: index === entries.length - 1 ? scheduleVersion : null };
    const kept = {
      policy_version: row.policy_version,
      facts,
      command: { ...decision.command, entry: index },
      trace: decision.trace,
      decision: transition,
      approver_user_id: decision.approver ?? null,
    };
    const { id: history_id, study_id, participant_id } = written;
    records.history.push(written);
    records.decisions.push({ history_id, study_id, participant_id, ...kept });
    records.events.push(...eventsOf(decision, transition, written));
    // The hash seals the snapshot into the audit chain: any later change of the known facts breaks the chain.
    records.auditEntries.push(entryOf(decision, written, decisionHash({ ...kept, policy: row.policy })));
  });
  if (entries.length === 0 && scheduleVersion) records.auditEntries.push(scheduleEntryOf(decision, scheduleVersion));
  return records;
}

const entryOf = (decision: AnchorDecision, written: HistoryWrite, decision_hash: string): AuditEntry => ({
  study_id: written.study_id,
  user_id: written.actor_user_id,
  action: `anchor_${written.event_type.toLowerCase()}`,
  resource_type: 'participant',
  resource_id: written.participant_id,
  request_id: written.request_id,
  metadata: {
    history_id: written.id,
    anchor_version: written.anchor_version,
    status_before: written.status_before,
    status_after: written.status_after,
    previous: written.previous_enrollment_date,
    value: written.enrollment_date_value,
    source_type: written.source_type,
    actor_type: written.actor_type,
    schedule_version_id: written.schedule_version_created_id,
    ...(decision.approver && { approver_user_id: decision.approver }),
    ...requestIn(decision, written),
    ...routeIn(decision),
    decision_hash,
  },
});

/** The override request that an entry is about: what was asked for, and why it ended where nobody decided it. */
function requestIn({ command, approver, denialReason }: AnchorDecision, { event_type }: HistoryWrite) {
  if (!('override_request_id' in command) || command.override_request_id === undefined) return {};
  const { override_request_id, new_enrollment_date: requested_value } = command;
  const ended = event_type === 'OVERRIDE_DENIED' && !approver && { ended_by: denialReason ?? null };
  return {
    override_request_id,
    requested_value,
    ...('requested_by' in command && { requested_by_id: command.requested_by }),
    ...ended,
  };
}

const routeIn = ({ via }: AnchorDecision) => (via === undefined ? {} : { via });

/** A new schedule without a change of the anchor. */
const scheduleEntryOf = (decision: AnchorDecision, scheduleVersion: string): AuditEntry => ({
  study_id: decision.snapshot.row.study_id,
  user_id: decision.sender.actor_user_id ?? null,
  action: 'schedule_generated',
  resource_type: 'participant',
  resource_id: decision.snapshot.row.participant_id,
  request_id: decision.sender.request_id?.slice(0, 36) ?? null,
  metadata: { schedule_version_id: scheduleVersion, ...routeIn(decision) },
});

/** The events of one transition with the data that the contract requires ("Events"). */
function eventsOf(decision: AnchorDecision, transition: Transition, entry: HistoryWrite): EventInput[] {
  const actor = { user_id: entry.actor_user_id, type: entry.actor_type };
  const common = {
    history_id: entry.id,
    anchor_version: entry.anchor_version,
    enrollment_date: entry.enrollment_date_value,
    status: entry.status_after,
    source_type: entry.source_type,
    source_ref: entry.source_ref,
    actor,
    schedule_version_id: entry.schedule_version_created_id,
  };
  const changed = {
    previous_value: entry.previous_enrollment_date,
    previous_enrollment_date: entry.previous_enrollment_date,
    new_value: entry.enrollment_date_value,
    change_delta_days: entry.change_delta_days,
    reason: decision.reason,
  };
  const event = (type: string, data: Record<string, unknown>): EventInput => ({
    type: `ENROLLMENT_DATE_${type}`,
    study_id: entry.study_id,
    participant_id: entry.participant_id,
    data: { ...common, ...data },
  });
  switch (transition.event_type) {
    case 'PROPOSED':
    case 'SET':
      return [event(transition.event_type, {})];
    case 'CHANGED':
      return [event('CHANGED', changed)];
    case 'FINALIZED':
      return [
        event('FINALIZED', {
          finalized_by: actor,
          finalized_by_id: entry.actor_user_id,
          ...(decision.reason !== null && { reason: decision.reason }),
        }),
      ];
    case 'OVERRIDE_REQUESTED':
      return [
        event('OVERRIDE_REQUESTED', {
          reason: decision.reason,
          requested_value: 'new_enrollment_date' in decision.command ? decision.command.new_enrollment_date : null,
        }),
      ];
    case 'OVERRIDE_GRANTED':
      return [
        // If no approval is required, a user who may override has granted it.
        event('OVERRIDE_GRANTED', {
          approver: decision.approver ?? decision.override?.requested_by ?? null,
          ...changed,
        }),
        event('CHANGED', changed),
      ];
    case 'OVERRIDE_DENIED': {
      const reason = decision.denialReason ?? decision.reason;
      return [event('OVERRIDE_DENIED', { approver: decision.approver ?? null, denial_reason: reason, reason })];
    }
  }
}
