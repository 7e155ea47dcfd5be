import type { AuditTrail } from '../../db/audit/audit.js';
import { queryAllAsPlanned } from '../../db/client/query.js';
import type { Statement } from '../../db/client/one-trip.js';
import { intoEvents } from '../../db/events/events.js';
import { insertManyStatements } from '../../db/client/sets/bulk-insert.js';
import {
  assertWritten,
  intoDecisions,
  intoHistory,
  writeAnchorsStatements,
} from '../../db/anchor/anchor-writes.queries.js';
import { recordsOf } from './decision-records.js';
import { rowsOf } from './decision-rows.js';
import type { DecisionRows } from './decision-rows.js';
import type { AnchorDecision } from './commands/outcome.js';
import { schedulesToWrite } from './schedule.js';
import type { Tx } from '../../db/client/database.js';

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
  const decided = batch.map(rowsOf);
  const schedules = schedulesToWrite(
    studyId,
    decided.flatMap(({ decision: { schedule, snapshot, sender }, version }) =>
      schedule ? [{ ...schedule, snapshot, anchorVersion: version, generatedBy: sender.actor_user_id ?? null }] : [],
    ),
  );
  const anchors = decided.flatMap(({ anchor }) => anchor ?? []);
  for (const anchor of anchors)
    anchor.current_schedule_version_id = schedules.versionIds.get(anchor.participant_id) ?? null;
  const anchorWrites = writeAnchorsStatements(anchors);
  const recorded = () => recordStatements(tx, audit, decided, schedules.versionIds);
  const first = [...before, ...anchorWrites, ...schedules.statements, ...(schedulesWritten ? [] : recorded())];
  const written = first.length > 0 ? await queryAllAsPlanned(tx, first) : [];
  assertWritten(written.slice(before.length, before.length + anchorWrites.length), anchors);
  if (!schedulesWritten) return;
  schedulesWritten();
  const records = recorded();
  if (records.length > 0) await queryAllAsPlanned(tx, records);
}

/** History, decisions and events of these decisions as statements; also records their audit records. */
function recordStatements(
  tx: Tx,
  audit: AuditTrail,
  decided: readonly DecisionRows[],
  versions: ReadonlyMap<string, string | null>,
): Statement[] {
  const records = decided.map((rows) =>
    recordsOf(rows, versions.get(rows.decision.snapshot.row.participant_id) ?? null),
  );
  for (const { auditEntries } of records) for (const entry of auditEntries) audit.record(entry);
  return insertManyStatements([
    intoHistory(records.flatMap(({ history }) => history)),
    intoDecisions(records.flatMap(({ decisions }) => decisions)),
    intoEvents(
      tx,
      records.flatMap(({ events }) => events),
    ),
  ]);
}
