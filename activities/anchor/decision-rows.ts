import type { AnchorWrite, HistoryWrite } from '../../db/anchor/anchor-writes.queries.js';
import { factsAfter } from '../../workflows/domain/anchor/decide.js';
import { standingFacts } from '../../workflows/domain/anchor/kept-facts.js';
import type { Transition } from '../../workflows/domain/util/types.js';
import type { AnchorDecision } from './commands/outcome.js';
import { orderedId } from '../util/ordered-id.js';

/** A decision with its change of the anchor and of the history. */
export interface DecisionRows {
  decision: AnchorDecision;
  /** The anchor's version when the decision is written. */
  version: number;
  /** null: the anchor stays as it is. */
  anchor: AnchorWrite | null;
  /** One for each transition; the schedule version is not known yet. */
  entries: readonly { history: HistoryWrite; transition: Transition }[];
}

/** The rows of a decision. */
export function rowsOf(decision: AnchorDecision): DecisionRows {
  const changes = decision.transitions.filter(changesAnchor);
  const version = decision.snapshot.facts.anchor.version + changes.length;
  const last = changes.at(-1);
  return {
    decision,
    version,
    anchor: last || decision.snapshot.row.is_new ? anchorAfter(decision, last, version) : null,
    entries: entriesOf(decision),
  };
}

/** An entry about a pending or denied request leaves the anchor and its version unchanged. */
const changesAnchor = (t: Transition) => t.event_type !== 'OVERRIDE_REQUESTED' && t.event_type !== 'OVERRIDE_DENIED';

function entriesOf(decision: AnchorDecision): { history: HistoryWrite; transition: Transition }[] {
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

/** What an override-back reopened was final: until it is so again, or unset, the guards hold for all of its moves. */
function reopenedAfter(
  { snapshot: { policy, facts }, reopenedFacts }: AnchorDecision,
  last: Transition | undefined,
): Pick<AnchorWrite, 'reopened' | 'reopened_facts'> {
  if (reopenedFacts !== undefined) return { reopened: true, reopened_facts: reopenedFacts };
  if (!facts.anchor.reopened || last?.status_after !== 'provisional') return { reopened: false, reopened_facts: null };
  return { reopened: true, reopened_facts: standingFacts(policy, factsAfter(facts, last)) };
}

/** The anchor after the last of its transitions; undefined: without any, it is stored unset. */
function anchorAfter(decision: AnchorDecision, last: Transition | undefined, version: number): AnchorWrite {
  const { row, facts } = decision.snapshot;
  const value = last?.value;
  const finalized = last?.status_after === 'finalized';
  const granted = last?.is_override ?? false;
  const approved = granted && decision.override?.approved_by ? decision.override.approved_by : null;
  return {
    id: row.anchor.id,
    participant_id: row.participant_id,
    study_id: row.study_id,
    is_new: row.is_new ?? false,
    expected_version: facts.anchor.version,
    current_schedule_version_id: null,
    version,
    enrollment_date_value: value?.date ?? null,
    enrollment_datetime_value: value?.datetime ?? null,
    partial_value: value?.partial ?? null,
    precision: value?.precision ?? 'date',
    timezone: value?.timezone ?? null,
    source_type: value?.source_type ?? null,
    source_ref: value?.source_ref ?? null,
    captured_at: value ? facts.now : null,
    status: last?.status_after ?? facts.anchor.status,
    finalized_at: finalized ? facts.now : null,
    finalized_by_id: finalized ? (approved ?? decision.sender.actor_user_id ?? null) : null,
    is_override: granted,
    override_reason: granted ? decision.reason : null,
    override_actor_id: granted ? decision.override!.requested_by : null,
    override_at: granted ? facts.now : null,
    override_approved: approved ? true : null,
    override_approved_by_id: approved,
    override_approved_at: approved ? facts.now : null,
    ...reopenedAfter(decision, last),
    cancelled_facts: decision.cancelledFacts ?? null,
  };
}
