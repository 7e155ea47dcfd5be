import { hashOf } from '../hashing.js';
import type { Tx } from '../knex.js';

/** What stands behind a history entry: the snapshot, the policy as it was stored, what was asked and what came of it. */
export interface DecisionContent {
  policy_version: number; policy: unknown; facts: unknown; command: unknown; trace: unknown; decision: unknown; approver_user_id: string | null;
}

/** The digest of a decision that its audit record carries. */
export const decisionHash = ({ policy_version, policy, facts, command, trace, decision, approver_user_id }: DecisionContent): string =>
  hashOf({ policy_version, policy: policy ?? null, facts, command, trace, decision, approver_user_id });

export interface DecisionRow extends DecisionContent {
  history_id: string;
  actor_user_id: string | null;
  /** The digest in the audit chain; null where the record is not there. */
  sealed_hash: string | null;
}

const COLUMNS = `h.id as history_id, d.policy_version, p.policy, d.facts, d.command, d.trace, d.decision, h.actor_user_id, d.approver_user_id,
  (select l.audit_metadata->>'decision_hash' from audit_log l where l.resource_type = 'participant' and l.resource_id = h.participant_id::text
     and l.audit_metadata->>'history_id' = h.id::text order by l.seq limit 1) as sealed_hash`;

/** The decision behind a history entry of a participant; undefined where there is no such entry. */
export async function readDecision(tx: Tx, participantId: string, historyId: string): Promise<DecisionRow | undefined> {
  const { rows } = await tx.raw(
    `select ${COLUMNS} from anchor_date_history h join anchor_decisions d on d.history_id = h.id
     left join enrollment_policies p on p.study_id = h.study_id and p.policy_version = d.policy_version
     where h.id = ? and h.participant_id = ?`, [historyId, participantId]);
  return rows[0] as DecisionRow | undefined;
}
