import { manualEntryStatements } from '../../db/anchor/anchors.queries.js';
import { queryAllAsPlanned } from '../../db/client/query.js';
import {
  endOverrideRequest,
  insertApproverNotices,
  insertOverrideRequest,
  markReminded,
} from '../../db/anchor/override-request-writes.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { approverRoles } from '../../workflows/domain/anchor/approvers.js';
import type { ApproverNotice, CommandOutcome, OverrideRequestChange } from './commands/outcome.js';
import type { AnchorSnapshot } from './snapshot.js';
import { writeDecisions } from './write.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Writes a command's outcome, in the caller's transaction and in this order: the override request, the manual entry,
 * the decision (anchor, schedule, history, events), the messages to approvers. Handlers write nothing. Audit records
 * are sealed with the commit: those of the command, then those of its decision.
 */
export async function writeOutcome(
  { tx, audit }: WriteTransaction,
  snapshot: AnchorSnapshot,
  { auditEntries = [], manualEntry, overrideRequest, decision, approverNotice }: CommandOutcome,
): Promise<void> {
  const { study_id, participant_id } = snapshot.row;
  for (const entry of auditEntries) audit.record(entry);
  if (overrideRequest) await writeRequest(tx, overrideRequest);
  const before = manualEntry ? manualEntryStatements(participant_id, manualEntry.replaces, manualEntry.entry) : [];
  if (decision) await writeDecisions(tx, audit, study_id, [decision], { before });
  else if (before.length > 0) await queryAllAsPlanned(tx, before);
  if (approverNotice) await notifyApprovers(tx, snapshot, approverNotice);
}

async function writeRequest(tx: Tx, change: OverrideRequestChange): Promise<void> {
  switch (change.kind) {
    case 'create':
      return insertOverrideRequest(tx, change.request);
    case 'end':
      return endOverrideRequest(tx, change.id, change.end);
    case 'reminded':
      return markReminded(tx, change.id);
  }
}

async function notifyApprovers(tx: Tx, { row, policy }: AnchorSnapshot, notice: ApproverNotice): Promise<void> {
  const { study_id, participant_id, site_id } = row;
  const ids = await insertApproverNotices(tx, {
    study_id,
    participant_id,
    site_id,
    ...notice,
    roles: approverRoles(policy),
  });
  await putOutbox(
    tx,
    ids.map((subject) => ({ topic: 'notification', studyId: study_id, subject })),
  );
}
