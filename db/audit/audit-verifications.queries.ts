import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface VerificationRow {
  id: string;
  chain: string | null;
  status: 'pending' | 'running' | 'completed' | 'failed';
  requested_by_id: string | null;
  rows_verified: number;
  rows_total: number;
  chains_verified: number;
  chains_total: number;
  state: VerificationState | null;
  result: Record<string, unknown> | null;
  error: string | null;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
}
/** The state of a verification: the remaining chains, the current one first, and the findings so far. */
export interface VerificationState {
  chains: string[];
  at: { rows: number; head: string } | null;
  checkpoints: number;
  head: string | null;
  bad: { first_bad_id: string; fault: string } | null;
}

export async function insertVerification(tx: Tx, chain: string | null, userId: string): Promise<VerificationRow> {
  const [row] = await tx<VerificationRow>('audit_verifications')
    .insert({ chain, requested_by_id: userId })
    .returning('*');
  return row as VerificationRow;
}

export const verificationById = async (db: Database | Tx, id: string): Promise<VerificationRow | undefined> =>
  db<VerificationRow>('audit_verifications').where({ id }).first();

/** The last requested verifications, newest first. */
export const latestVerifications = async (tx: Tx, limit: number): Promise<VerificationRow[]> =>
  tx<VerificationRow>('audit_verifications')
    .select('*')
    .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }])
    .limit(limit) as Promise<VerificationRow[]>;

/** Stores the progress; `false`: the verification has ended. */
export async function noteVerification(tx: Tx, id: string, change: Partial<VerificationRow>): Promise<boolean> {
  const { state, result, ...rest } = change;
  const count = await tx('audit_verifications')
    .where({ id })
    .whereIn('status', ['pending', 'running'])
    .update({
      ...rest,
      ...(state !== undefined && { state: JSON.stringify(state) }),
      ...(result !== undefined && { result: JSON.stringify(result) }),
    });
  return count > 0;
}

/** The number of records of all chains, or of one. */
export async function recordsOf(tx: Tx, chains: readonly string[]): Promise<number> {
  const [sum] = (await tx('audit_chains').whereIn('chain', chains).sum('seq as rows')) as { rows: number | null }[];
  return sum?.rows ?? 0;
}
