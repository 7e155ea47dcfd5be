import type { EventInput } from '../../db/events/events.js';
import type { AnchorWrite, HistoryWrite } from '../../db/anchor/anchors.queries.js';
import type { Transition } from '../../workflows/domain/util/types.js';
import type { AnchorDecision } from './commands/outcome.js';
import { orderedId } from '../util/ordered-id.js';

/** An entry about a pending or denied request leaves the anchor and its version unchanged. */
export const changesAnchor = (t: Transition) =>
  t.event_type !== 'OVERRIDE_REQUESTED' && t.event_type !== 'OVERRIDE_DENIED';
/** The anchor's version when the decision is written. */
export const versionAfter = (decision: AnchorDecision): number =>
  decision.snapshot.facts.anchor.version + decision.transitions.filter(changesAnchor).length;

/** The entries of the history, one for each transition. */
export function entriesOf(decision: AnchorDecision): { history: HistoryWrite; transition: Transition }[] {
  const { row, facts } = decision.snapshot;
  const { sender } = decision;
  let version = facts.anchor.version;
  return decision.transitions.map((transition) => {
    if (changesAnchor(transition)) version += 1;
    const value = transition.value;
    return {
      transition,
      history: {
        id: orderedId(),
        anchor_date_id: row.anchor.id,
        participant_id: row.participant_id,
        study_id: row.study_id,
        event_type: transition.event_type,
        anchor_version: version,
        enrollment_date_value: value?.date ?? null,
        enrollment_datetime_value: value?.datetime ?? null,
        precision: value?.precision ?? facts.anchor.precision,
        timezone: value?.timezone ?? facts.anchor.timezone,
        status_before: transition.status_before,
        status_after: transition.status_after,
        source_type: value?.source_type ?? transition.previous_source_type ?? 'manual_entry',
        source_ref: value?.source_ref ?? null,
        previous_enrollment_date: transition.previous_date,
        previous_source_type: transition.previous_source_type,
        change_delta_days: transition.delta_days,
        actor_user_id: sender.actor_user_id ?? null,
        actor_type: sender.actor_type ?? (sender.actor_user_id ? 'user' : 'workflow'),
        reason: decision.reason,
        ip_address: sender.ip_address?.slice(0, 45) ?? null,
        user_agent: sender.user_agent?.slice(0, 500) ?? null,
        request_id: sender.request_id?.slice(0, 36) ?? null,
        schedule_version_created_id: null,
      },
    };
  });
}

/** The anchor after the last of its transitions. */
export function anchorWriteOf(decision: AnchorDecision, version: number): AnchorWrite {
  const { row, facts } = decision.snapshot;
  const last = decision.transitions.filter(changesAnchor).at(-1)!;
  const { value } = last;
  const finalized = last.status_after === 'finalized';
  const granted = last.is_override;
  const approved = granted && decision.override?.approved_by ? decision.override.approved_by : null;
  return {
    participant_id: row.participant_id,
    expected_version: facts.anchor.version,
    version,
    enrollment_date_value: value?.date ?? null,
    enrollment_datetime_value: value?.datetime ?? null,
    partial_value: value?.partial ?? null,
    precision: value?.precision ?? 'date',
    timezone: value?.timezone ?? null,
    source_type: value?.source_type ?? null,
    source_ref: value?.source_ref ?? null,
    captured_at: value ? facts.now : null,
    status: last.status_after,
    finalized_at: finalized ? facts.now : null,
    finalized_by_id: finalized ? (approved ?? decision.sender.actor_user_id ?? null) : null,
    is_override: granted,
    override_reason: granted ? decision.reason : null,
    override_actor_id: granted ? decision.override!.requested_by : null,
    override_at: granted ? facts.now : null,
    override_approved: approved ? true : null,
    override_approved_by_id: approved,
    override_approved_at: approved ? facts.now : null,
    reopened: decision.reopenedFacts !== undefined,
    reopened_facts: decision.reopenedFacts ?? null,
    cancelled_facts: decision.cancelledFacts ?? null,
  };
}

/** The events of one transition with the data that the contract requires ("Events"). */
export function eventsOf(decision: AnchorDecision, transition: Transition, entry: HistoryWrite): EventInput[] {
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
