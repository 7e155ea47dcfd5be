import { readFacts } from '../../db/queries/facts.js';
import type { FactRow } from '../../db/queries/facts.js';
import { visitKey } from '../../db/hashing.js';
import type { Tx } from '../../db/knex.js';
import { factsOf, policyOf } from '../../workflows/domain/facts.js';
import type { Policy } from '../../workflows/domain/policy-schema.js';
import type { KeyOf } from '../../workflows/domain/regeneration.js';
import type { Facts } from '../../workflows/domain/types.js';

/** One participant's case: the facts as they stand in this transaction, and the policy that they are held against. */
export interface Case {
  row: FactRow;
  policy: Policy;
  facts: Facts;
  keyOf: KeyOf;
}

/** Reads the cases of these participants; those that are gone are left out. */
export async function readCases(tx: Tx, participantIds: readonly string[]): Promise<Case[]> {
  return (await readFacts(tx, participantIds)).map((row) => {
    const policy = policyOf(row.policy);
    return { row, policy, facts: factsOf(row, policy), keyOf: (identity) => visitKey(row.participant_id, identity) };
  });
}
