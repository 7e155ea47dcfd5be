import { decisionHash, readDecision } from '../../db/anchor/decisions.queries.js';
import type { DecisionRow } from '../../db/anchor/decisions.queries.js';
import { policyOf } from '../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { rederive } from '../../workflows/domain/anchor/rederive.js';
import type { DecisionCommand } from '../../workflows/domain/anchor/rederive.js';
import type { Facts, Trace, Transition } from '../../workflows/domain/util/types.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

export interface DecisionView extends Pick<DecisionRow, 'imported' | 'imported_by' | 'original_users'> {
  history_id: string;
  policy_version: number;
  policy: Policy;
  facts: unknown;
  command: unknown;
  trace: unknown;
  decision: unknown;
  actor_user_id: string | null;
  approver_user_id: string | null;
}

/** The known facts, the policy, and the result of a decision. @throws 404 */
export async function decisionBehind(tx: Tx, participantId: string, historyId: string): Promise<DecisionView> {
  const { sealed_hash: _sealed, ...row } = await getDecisionOrThrow(tx, participantId, historyId);
  return { ...row, policy: policyOf(row.policy) };
}

export interface Rederivation {
  same: boolean;
  decision: Transition | null;
  differences: ('decision' | 'trace' | 'snapshot')[];
}

/**
 * Runs the pure decision again on the stored snapshot. `snapshot` differs if the stored data do not match the audit
 * chain: then the result proves nothing. @throws 404
 */
export async function deriveAgain(tx: Tx, participantId: string, historyId: string): Promise<Rederivation> {
  const row = await getDecisionOrThrow(tx, participantId, historyId);
  const again = rederive({
    policy: policyOf(row.policy),
    facts: row.facts as Facts,
    command: row.command as DecisionCommand,
    trace: row.trace as Trace,
    decision: row.decision as Transition,
  });
  const differences: Rederivation['differences'] = [
    ...again.differences,
    ...(decisionHash(row) === row.sealed_hash ? [] : ['snapshot' as const]),
  ];
  return { same: differences.length === 0, decision: again.decision, differences };
}

async function getDecisionOrThrow(tx: Tx, participantId: string, historyId: string): Promise<DecisionRow> {
  const row = await readDecision(tx, participantId, historyId);
  if (!row) throw problem('NOT_FOUND', { detail: 'There is no such entry in the history of this anchor.' });
  return row;
}
