import { readFacts, readNewcomers } from '../../db/participants/facts.queries.js';
import type { FactRow } from '../../db/participants/facts.queries.js';
import { visitKey } from '../../db/audit/hashing.js';
import { policyAndFacts } from '../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import type { KeyOf } from '../../workflows/domain/anchor/regeneration.js';
import type { Facts } from '../../workflows/domain/util/types.js';
import { orderedId } from '../util/ordered-id.js';
import type { Tx } from '../../db/client/database.js';

/** One participant's anchor in this transaction: the facts, and the policy that applies. */
export interface AnchorSnapshot {
  row: FactRow;
  policy: Policy;
  facts: Facts;
  keyOf: KeyOf;
}

/** Reads the snapshots of these participants; deleted ones are left out. */
export const loadSnapshots = async (tx: Tx, participantIds: readonly string[]): Promise<AnchorSnapshot[]> =>
  participantIds.length === 0 ? [] : (await readFacts(tx, participantIds)).map(snapshotOf);

/** The snapshots of participants whom this transaction has enrolled, and whose anchors it has yet to store. */
export const loadNewcomers = async (tx: Tx, participantIds: readonly string[]): Promise<AnchorSnapshot[]> =>
  (await readNewcomers(tx, participantIds, orderedId)).map(snapshotOf);

export function snapshotOf(row: FactRow): AnchorSnapshot {
  return { row, ...policyAndFacts(row), keyOf: (identity) => visitKey(row.participant_id, identity) };
}
