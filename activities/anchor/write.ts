import { randomUUID } from 'node:crypto';
import type { AuditTrail } from '../../db/audit.js';
import { intoEvents } from '../../db/events.js';
import type { DomainEvent } from '../../db/events.js';
import type { Tx } from '../../db/knex.js';
import { insertTogether } from '../../db/rows.js';
import { intoDecisions, intoHistory, writeAnchors } from '../../db/queries/anchors.js';
import type { AnchorWrite, DecisionWrite, HistoryWrite } from '../../db/queries/anchors.js';
import { decisionHash } from '../../db/queries/decisions.js';
import type { Sender } from '../../workflows/contract.js';
import type { DecisionCommand } from '../../workflows/domain/rederive.js';
import type { Trace, Transition } from '../../workflows/domain/types.js';
import type { Case } from './context.js';
import { writeSchedules } from './schedule.js';
import type { ScheduleOrder } from './schedule.js';

/** One participant's decision as it is to be written: everything in the caller's transaction, or nothing. */
export interface Outcome {
  case: Case;
  transitions: readonly Transition[];
  trace: Trace;
  /** What was asked, for the record beside the decision. */
  command: DecisionCommand;
  sender: Sender;
  reason: string | null;
  /** Set on a granted override. */
  override?: { requested_by: string; approved_by: string | null };
  approver?: string | null;
  /** What the schedule is to become; absent: it stays. */
  schedule?: Omit<ScheduleOrder, 'case' | 'anchorVersion' | 'generatedBy'>;
  cancelledFacts?: string | null;
  /** Set where an override-back reopens the anchor: what has to change before it moves by itself. */
  reopenedFacts?: string;
  denialReason?: string | null;
}

export interface Written {
  participant_id: string;
  version: number;
  history_ids: string[];
  schedule_version_id: string | null | undefined;
}

/**
 * Writes decisions of one study: anchors (compare-and-set), schedule versions with visits, history, the facts and the
 * trace behind each entry, events for subscribers, audit records.
 * @param schedulesWritten told when the most of it is written
 */
export async function writeOutcomes(
  tx: Tx,
  audit: AuditTrail,
  studyId: string,
  outcomes: readonly Outcome[],
  schedulesWritten: () => void = () => undefined,
): Promise<Written[]> {
  const steps = outcomes.map((outcome) => ({ outcome, version: versionAfter(outcome), entries: entriesOf(outcome) }));
  await writeAnchors(
    tx,
    steps
      .filter(({ outcome }) => outcome.transitions.some(changesAnchor))
      .map(({ outcome, version }) => anchorOf(outcome, version)),
  );
  const versions = await writeSchedules(
    tx,
    studyId,
    steps
      .filter(({ outcome }) => outcome.schedule)
      .map(({ outcome, version }) => ({
        ...outcome.schedule!,
        case: outcome.case,
        anchorVersion: version,
        generatedBy: outcome.sender.actor_user_id ?? null,
      })),
  );
  schedulesWritten();
  const history: HistoryWrite[] = [];
  const decisions: DecisionWrite[] = [];
  const events: DomainEvent[] = [];
  for (const { outcome, entries } of steps) {
    const scheduleVersion = versions.get(outcome.case.row.participant_id) ?? null;
    entries.forEach((entry, index) => {
      const written = {
        ...entry.history,
        schedule_version_created_id: index === entries.length - 1 ? scheduleVersion : null,
      };
      history.push(written);
      const decided = {
        policy_version: outcome.case.row.policy_version,
        facts: outcome.case.facts,
        command: { ...outcome.command, entry: index },
        trace: outcome.trace,
        decision: entry.transition,
        approver_user_id: outcome.approver ?? null,
      };
      decisions.push({ history_id: written.id, study_id: studyId, participant_id: written.participant_id, ...decided });
      events.push(...eventsOf(outcome, entry.transition, written));
      audit.record({
        study_id: studyId,
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
          ...(outcome.approver && { approver_user_id: outcome.approver }),
          // Seals the snapshot into the audit chain: nobody changes what was known without breaking it.
          decision_hash: decisionHash({ ...decided, policy: outcome.case.row.policy }),
        },
      });
    });
    if (entries.length === 0 && scheduleVersion) {
      audit.record({
        study_id: studyId,
        user_id: outcome.sender.actor_user_id ?? null,
        action: 'schedule_generated',
        resource_type: 'participant',
        resource_id: outcome.case.row.participant_id,
        request_id: outcome.sender.request_id?.slice(0, 36) ?? null,
        metadata: { schedule_version_id: scheduleVersion },
      });
    }
  }
  await insertTogether(tx, [intoHistory(history), intoDecisions(decisions), intoEvents(events)]);
  return steps.map(({ outcome, version, entries }) => ({
    participant_id: outcome.case.row.participant_id,
    version,
    history_ids: entries.map((e) => e.history.id),
    schedule_version_id: versions.get(outcome.case.row.participant_id),
  }));
}

/** An entry that only says something was asked or denied leaves the anchor and its version alone. */
const changesAnchor = (t: Transition) => t.event_type !== 'OVERRIDE_REQUESTED' && t.event_type !== 'OVERRIDE_DENIED';
const versionAfter = (outcome: Outcome) =>
  outcome.case.facts.anchor.version + outcome.transitions.filter(changesAnchor).length;

function entriesOf(outcome: Outcome): { history: HistoryWrite; transition: Transition }[] {
  const { row, facts } = outcome.case;
  const { sender } = outcome;
  let version = facts.anchor.version;
  return outcome.transitions.map((transition) => {
    if (changesAnchor(transition)) version += 1;
    const value = transition.value;
    return {
      transition,
      history: {
        id: randomUUID(),
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
        reason: outcome.reason,
        ip_address: sender.ip_address?.slice(0, 45) ?? null,
        user_agent: sender.user_agent?.slice(0, 500) ?? null,
        request_id: sender.request_id?.slice(0, 36) ?? null,
        schedule_version_created_id: null,
      },
    };
  });
}

/** The anchor as the last of its transitions leaves it. */
function anchorOf(outcome: Outcome, version: number): AnchorWrite {
  const { row, facts } = outcome.case;
  const last = outcome.transitions.filter(changesAnchor).at(-1)!;
  const { value } = last;
  const finalized = last.status_after === 'finalized';
  const granted = last.is_override;
  const approved = granted && outcome.override?.approved_by ? outcome.override.approved_by : null;
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
    finalized_by_id: finalized ? (approved ?? outcome.sender.actor_user_id ?? null) : null,
    is_override: granted,
    override_reason: granted ? outcome.reason : null,
    override_actor_id: granted ? outcome.override!.requested_by : null,
    override_at: granted ? facts.now : null,
    override_approved: approved ? true : null,
    override_approved_by_id: approved,
    override_approved_at: approved ? facts.now : null,
    reopened: outcome.reopenedFacts !== undefined,
    reopened_facts: outcome.reopenedFacts ?? null,
    cancelled_facts: outcome.cancelledFacts ?? null,
  };
}

/** The events of one transition with the data that the contract requires of each ("Events"). */
function eventsOf(outcome: Outcome, transition: Transition, entry: HistoryWrite): DomainEvent[] {
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
    reason: outcome.reason,
  };
  const event = (type: string, data: Record<string, unknown>): DomainEvent => ({
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
          ...(outcome.reason !== null && { reason: outcome.reason }),
        }),
      ];
    case 'OVERRIDE_REQUESTED':
      return [
        event('OVERRIDE_REQUESTED', {
          reason: outcome.reason,
          requested_value: 'new_enrollment_date' in outcome.command ? outcome.command.new_enrollment_date : null,
        }),
      ];
    case 'OVERRIDE_GRANTED':
      return [
        // Where no approval is needed, who may override has granted it.
        event('OVERRIDE_GRANTED', { approver: outcome.approver ?? outcome.override?.requested_by ?? null, ...changed }),
        event('CHANGED', changed),
      ];
    case 'OVERRIDE_DENIED': {
      const reason = outcome.denialReason ?? outcome.reason;
      return [event('OVERRIDE_DENIED', { approver: outcome.approver ?? null, denial_reason: reason, reason })];
    }
  }
}
