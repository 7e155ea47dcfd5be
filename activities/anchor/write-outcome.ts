import type { AuditEntry } from '../../db/audit/audit.js';
import { manualEntryStatements } from '../../db/anchor/anchor-writes.queries.js';
import { queryAllAsPlanned } from '../../db/client/query.js';
import {
  endOverrideRequest,
  insertApproverNotices,
  insertOutcomeNotice,
  insertOverrideRequest,
  markReminded,
} from '../../db/anchor/override-request-writes.queries.js';
import { UUID } from '../../db/client/uuid.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import type { Sender } from '../../workflows/contract.js';
import { approverRoles } from '../../workflows/domain/anchor/approvers.js';
import type { AnchorCommand } from './commands/commands.js';
import type { ApproverNotice, CommandOutcome, CommandResult, OverrideRequestChange } from './commands/outcome.js';
import type { AnchorSnapshot } from './snapshot.js';
import { writeDecisions } from './write.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Writes a command's outcome, in the caller's transaction and in this order: the override request, the manual entry,
 * the decision (anchor, schedule, history, events), the messages to approvers or to the user who asked. Handlers write
 * nothing; of a refused command only the refusal is recorded, and rules that failed. Audit records are sealed with the
 * commit: those of the command, then those of its decision.
 */
export async function writeOutcome(
  { tx, audit }: WriteTransaction,
  snapshot: AnchorSnapshot,
  command: AnchorCommand,
  { result, auditEntries = [], manualEntry, overrideRequest, decision, approverNotice }: CommandOutcome,
): Promise<void> {
  const { study_id, participant_id } = snapshot.row;
  for (const entry of [...(result.refused ? [refusalEntry(command, result)] : []), ...auditEntries])
    audit.record(entry);
  if (overrideRequest) await writeRequest(tx, overrideRequest);
  const before = manualEntry ? manualEntryStatements(participant_id, manualEntry.replaces, manualEntry.entry) : [];
  if (decision) await writeDecisions(tx, audit, study_id, [decision], { before });
  else if (before.length > 0) await queryAllAsPlanned(tx, before);
  if (approverNotice) await notifyApprovers(tx, snapshot, approverNotice);
  if (overrideRequest?.kind === 'end') await notifyRequester(tx, snapshot, overrideRequest.id);
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
  await putNotifications(tx, study_id, ids);
}

async function notifyRequester(tx: Tx, { row }: AnchorSnapshot, requestId: string): Promise<void> {
  const { study_id, site_id } = row;
  await putNotifications(tx, study_id, await insertOutcomeNotice(tx, { study_id, site_id, requestId }));
}

const putNotifications = (tx: Tx, studyId: string, ids: readonly string[]): Promise<void> =>
  putOutbox(
    tx,
    ids.map((subject) => ({ topic: 'notification', studyId, subject })),
  );

/** The audit record of a refused command. Its fields may be malformed. */
function refusalEntry(command: AnchorCommand, { refused, errors }: CommandResult): AuditEntry {
  const decision = command.kind === 'decide_override' ? command.message : undefined;
  const sender = decision ? decision.approver_user_id : (command.message as Sender).actor_user_id;
  return {
    study_id: command.study_id,
    user_id: asUuid(sender),
    action: decision ? 'override_decision_refused' : `anchor_${command.kind}_refused`,
    resource_type: 'participant',
    resource_id: command.participant_id,
    request_id: asText(decision ? decision.http_request_id : (command.message as Sender).request_id, 36),
    metadata: {
      code: refused!.code,
      errors: errors.map((e) => e.code),
      command_id: command.id,
      ...(decision && {
        override_request_id: asText(decision.request_id, 100),
        decision: asText(decision.decision, 20),
        sent_as_user: asText(sender, 100),
      }),
    },
  };
}

const asUuid = (value: unknown): string | null => (typeof value === 'string' && UUID.test(value) ? value : null);
const asText = (value: unknown, maxLength: number): string | null =>
  typeof value === 'string' ? value.slice(0, maxLength) : null;
