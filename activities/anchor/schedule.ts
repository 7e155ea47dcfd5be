import { stopSupersededStatement } from '../../db/notifications/reminders.queries.js';
import type { Statement } from '../../db/client/one-trip.js';
import {
  insertVersionsStatement,
  reconcileCompletedStatement,
  supersedeVersionsStatements,
  unpointAnchorsStatement,
} from '../../db/scheduling/schedule-writes.queries.js';
import type { CompletedWrite, VersionWrite, VisitWrite } from '../../db/scheduling/schedule-writes.queries.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import type { NextVersion, ScheduleInputs } from '../../workflows/domain/anchor/regeneration.js';
import { nextVersion } from '../../workflows/domain/anchor/regeneration.js';
import type { Regeneration } from '../../workflows/domain/scheduling/schedule.js';
import type { AnchorSnapshot } from './snapshot.js';
import { orderedId } from '../util/ordered-id.js';

/** The requested change of a participant's schedule. */
export interface ScheduleOrder {
  /** The id of the next version, if it was announced already. */
  id?: string;
  snapshot: AnchorSnapshot;
  inputs: ScheduleInputs;
  /** The date of the next version; null ends the current one without a next (a cancelled proposal). */
  date: string | null;
  /** The next version from `date`, if it was computed already. */
  next?: NextVersion;
  reason: string;
  anchorVersion: number;
  generatedBy: string | null;
}

/**
 * The next schedule versions: the statements that write them, preserve the old ones and reconcile completed visits, in
 * order, and the new version's id by participant.
 */
export function schedulesToWrite(
  studyId: string,
  orders: readonly ScheduleOrder[],
): { statements: Statement[]; versionIds: Map<string, string | null> } {
  const made = new Map<string, string | null>();
  const versions: VersionWrite[] = [];
  const visits: VisitWrite[] = [];
  const completed: CompletedWrite[] = [];
  const ended = new Map<
    string,
    {
      reason: string;
      visitStatus: 'superseded' | 'cancelled';
      participants: string[];
      visitIds: string[];
      reconciled: string[];
    }
  >();
  const end = (
    order: ScheduleOrder,
    visitStatus: 'superseded' | 'cancelled',
    visitIds: string[],
    isReconciled: boolean,
  ) => {
    const group = ended.get(order.reason) ?? {
      reason: order.reason,
      visitStatus,
      participants: [],
      visitIds: [],
      reconciled: [],
    };
    group.participants.push(order.snapshot.row.participant_id);
    group.visitIds.push(...visitIds);
    // When a final date moves, mostly by an override, the visits of its version are reconciled.
    if (isReconciled && order.snapshot.facts.anchor.status === 'finalized')
      group.reconciled.push(order.snapshot.row.participant_id);
    ended.set(order.reason, group);
  };
  for (const order of orders) {
    const { row, policy, keyOf } = order.snapshot;
    if (order.date === null) {
      end(
        order,
        'cancelled',
        order.inputs.standing
          .filter((v) => v.schedule_version_id !== null && v.status !== 'completed' && v.status !== 'cancelled')
          .map((v) => v.id),
        false,
      );
      made.set(row.participant_id, null);
      continue;
    }
    const next = order.next ?? nextVersion(order.date, order.inputs, keyOf);
    const id = order.id ?? orderedId();
    const isReconciled = next.moved || isOverridden(order);
    // A first version has no predecessor.
    if (order.inputs.current_date !== null || next.change.supersede.length > 0)
      end(
        order,
        'superseded',
        next.change.supersede.map((v) => v.id),
        isReconciled,
      );
    if (isReconciled) completed.push(...next.change.completed.map((c) => reconciled(c, policy)));
    versions.push({
      id,
      participant_id: row.participant_id,
      study_id: studyId,
      is_current: true,
      status: 'active',
      version_number: next.version_number,
      anchor_date_used: order.date,
      anchor_version: order.anchorVersion,
      anchor_date_id: row.anchor.id,
      scheduling_mode: next.scheduling_mode,
      holiday_calendar_id: next.holiday_calendar_id,
      scheduling_settings: {
        zone: order.snapshot.facts.zone,
        policy_version: row.policy_version,
        completed_visit_handling: policy.re_anchoring.completed_visit_handling,
        carried_visit_ids: [
          ...next.change.completed.filter((c) => c.planned),
          ...next.change.kept,
          ...next.change.cancelled,
          ...next.change.missed,
        ].map((c) => c.visit.id),
      },
      visits_generated: next.change.create.length,
      generation_warnings: next.warnings,
      generated_by_id: order.generatedBy,
    });
    for (const visit of next.change.create) {
      const { identity: _identity, ...planned } = visit;
      visits.push({ id: orderedId(), schedule_version_id: id, ...planned });
    }
    made.set(row.participant_id, id);
  }
  const groups = [...ended.values()];
  const without = orders.filter((o) => o.date === null).map((o) => o.snapshot.row.participant_id);
  const statements = [
    ...groups.flatMap((group) => supersedeVersionsStatements(group.participants, group)),
    ...(completed.length > 0 ? [reconcileCompletedStatement(completed)] : []),
    ...(versions.length > 0 ? [insertVersionsStatement(versions, visits)] : []),
    // After the new visits: reminders of the same key have moved to them by now.
    ...groups.map((group) => stopSupersededStatement(group.participants)),
    ...(without.length > 0 ? [unpointAnchorsStatement(without)] : []),
  ];
  return { statements, versionIds: made };
}

/**
 * An override reconciles the version that it supersedes, also one that was planned from its date already: an earlier
 * override may have left the schedule there.
 */
const isOverridden = ({ reason, inputs }: ScheduleOrder): boolean =>
  reason === 'override' && inputs.current_date !== null;

/**
 * The effects of `completed_visit_handling` besides the mark. A visit needs a new review only if its target would have
 * moved, and not to a date that a review has settled already.
 */
function reconciled({ visit, planned }: Regeneration['completed'][number], policy: Policy): CompletedWrite {
  const handling = policy.re_anchoring.completed_visit_handling;
  const moved =
    planned !== null &&
    planned.target_date !== (visit.reporting_target_date ?? visit.target_date) &&
    planned.target_date !== visit.reviewed_target_date;
  return {
    id: visit.id,
    needs_review: visit.needs_review || (handling === 'flag_for_review' && moved),
    reporting_target_date:
      handling === 'recalculate_reporting' && planned ? planned.target_date : visit.reporting_target_date,
  };
}
