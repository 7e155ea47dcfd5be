import type { AuditTrail } from '../../db/audit/audit.js';
import { queryAllAsPlanned } from '../../db/client/query.js';
import type { Statement } from '../../db/client/one-trip.js';
import { intoEvents } from '../../db/events/events.js';
import type { EventInput } from '../../db/events/events.js';
import { insertManyStatements } from '../../db/client/sets/bulk-insert.js';
import { assertWritten, intoDecisions, intoHistory, writeAnchorsStatement } from '../../db/anchor/anchors.queries.js';
import type { DecisionWrite, HistoryWrite } from '../../db/anchor/anchors.queries.js';
import { decisionHash } from '../../db/anchor/decisions.queries.js';
import { anchorWriteOf, changesAnchor, entriesOf, eventsOf, versionAfter } from './decision-rows.js';
import type { AnchorDecision } from './commands/outcome.js';
import { schedulesToWrite } from './schedule.js';
import type { Tx } from '../../db/client/database.js';

/** A decision with its change of the anchor's version and history. */
interface Step {
  decision: AnchorDecision;
  version: number;
  entries: ReturnType<typeof entriesOf>;
}

/**
 * Writes decisions of one study, in this order: anchors (compare-and-set), schedule versions with visits, then history,
 * the facts and the trace behind each entry, and events for subscribers; in one round trip, or in two if a caller waits
 * for the first part. The audit records are sealed with the commit.
 * @param how `before`: statements that go first; `schedulesWritten`: called when most of it is written
 */
export async function writeDecisions(
  tx: Tx,
  audit: AuditTrail,
  studyId: string,
  batch: readonly AnchorDecision[],
  { before = [], schedulesWritten }: { before?: readonly Statement[]; schedulesWritten?: () => void } = {},
): Promise<void> {
  const steps = batch.map((decision) => ({
    decision,
    version: versionAfter(decision),
    entries: entriesOf(decision),
  }));
  const anchors = steps
    .filter(({ decision }) => decision.transitions.some(changesAnchor))
    .map(({ decision, version }) => anchorWriteOf(decision, version));
  const schedules = schedulesToWrite(
    studyId,
    steps
      .filter(({ decision }) => decision.schedule)
      .map(({ decision, version }) => ({
        ...decision.schedule!,
        snapshot: decision.snapshot,
        anchorVersion: version,
        generatedBy: decision.sender.actor_user_id ?? null,
      })),
  );
  const recorded = () => recordStatements(tx, audit, studyId, steps, schedules.versionIds);
  const first = [
    ...before,
    ...(anchors.length > 0 ? [writeAnchorsStatement(anchors)] : []),
    ...schedules.statements,
    ...(schedulesWritten ? [] : recorded()),
  ];
  const written = first.length > 0 ? await queryAllAsPlanned(tx, first) : [];
  if (anchors.length > 0) assertWritten(written[before.length]!, anchors);
  if (!schedulesWritten) return;
  schedulesWritten();
  const records = recorded();
  if (records.length > 0) await queryAllAsPlanned(tx, records);
}

/** History, decisions and events of these steps as statements; also records their audit records. */
function recordStatements(
  tx: Tx,
  audit: AuditTrail,
  studyId: string,
  steps: readonly Step[],
  versions: ReadonlyMap<string, string | null>,
): Statement[] {
  const history: HistoryWrite[] = [];
  const decisions: DecisionWrite[] = [];
  const events: EventInput[] = [];
  for (const { decision, entries } of steps) {
    const scheduleVersion = versions.get(decision.snapshot.row.participant_id) ?? null;
    entries.forEach((entry, index) => {
      const written = {
        ...entry.history,
        schedule_version_created_id: index === entries.length - 1 ? scheduleVersion : null,
      };
      history.push(written);
      const kept = {
        policy_version: decision.snapshot.row.policy_version,
        facts: decision.snapshot.facts,
        command: { ...decision.command, entry: index },
        trace: decision.trace,
        decision: entry.transition,
        approver_user_id: decision.approver ?? null,
      };
      decisions.push({ history_id: written.id, study_id: studyId, participant_id: written.participant_id, ...kept });
      events.push(...eventsOf(decision, entry.transition, written));
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
          ...(decision.approver && { approver_user_id: decision.approver }),
          // Seals the snapshot into the audit chain: any later change of the known facts breaks the chain.
          decision_hash: decisionHash({ ...kept, policy: decision.snapshot.row.policy }),
        },
      });
    });
    if (entries.length === 0 && scheduleVersion) {
      audit.record({
        study_id: studyId,
        user_id: decision.sender.actor_user_id ?? null,
        action: 'schedule_generated',
        resource_type: 'participant',
        resource_id: decision.snapshot.row.participant_id,
        request_id: decision.sender.request_id?.slice(0, 36) ?? null,
        metadata: { schedule_version_id: scheduleVersion },
      });
    }
  }
  return insertManyStatements([intoHistory(history), intoDecisions(decisions), intoEvents(tx, events)]);
}
