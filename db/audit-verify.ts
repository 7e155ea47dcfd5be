import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import type { Database, Tx } from './knex.js';

export interface ChainReport { chain: string; valid: boolean; rows: number; head: string | null; first_bad_id?: string; fault?: string }

interface AuditRow {
  seq: number; chain: string; study_id: string | null; user_id: string | null; action: string; resource_type: string; resource_id: string | null;
  audit_metadata: unknown; request_id: string | null; created_at: string; prev_hash: string; hash: string; hash_version: number;
}

const GENESIS = '0'.repeat(64);
const BATCH = 2000;

/** SHA-256 over the previous hash and the record's canonical JSON (decisions, section 7). */
export function recordHash(row: AuditRow): string {
  const { prev_hash, hash: _hash, ...record } = row;
  return createHash('sha256').update(prev_hash + canonicalJson(record)).digest('hex');
}

/**
 * Recomputes a chain from its first record: every hash, every link, no gap, and the head that is kept beside it. Reads
 * in batches; `first_bad_id` is `chain/seq` of the first record that does not hold.
 */
export async function verifyChain(db: Database | Tx, chain: string): Promise<ChainReport> {
  let head = GENESIS;
  let rows = 0;
  const bad = (seq: number, fault: string): ChainReport => ({ chain, valid: false, rows, head, first_bad_id: `${chain}/${seq}`, fault });
  for (;;) {
    const { rows: batch } = await db.raw(
      `select seq, chain, study_id, user_id, action, resource_type, resource_id, audit_metadata, request_id,
         to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at, prev_hash, hash, hash_version
       from audit_log where chain = ? and seq > ? order by seq limit ?`, [chain, rows, BATCH]) as { rows: AuditRow[] };
    for (const row of batch) {
      if (row.seq !== rows + 1) return bad(rows + 1, `record ${rows + 1} is missing`);
      if (row.prev_hash !== head) return bad(row.seq, 'it does not follow the record before it');
      if (row.hash !== recordHash(row)) return bad(row.seq, 'its content is not what was sealed');
      head = row.hash;
      rows += 1;
    }
    if (batch.length < BATCH) break;
  }
  const { rows: [kept] } = await db.raw('select seq, head from audit_chains where chain = ?', [chain]) as { rows: { seq: number; head: string }[] };
  if (kept && (kept.seq !== rows || kept.head !== head)) return bad(rows + 1, `the chain ends at ${rows}, its head says ${kept.seq}`);
  if (!kept && rows > 0) return bad(1, 'the chain has no head');
  return { chain, valid: true, rows, head: rows === 0 ? null : head };
}

/** Every chain of the database, those that only a record or only a head names too. */
export async function allChains(db: Database | Tx): Promise<string[]> {
  const { rows } = await db.raw('select chain from audit_chains union select distinct chain from audit_log order by 1') as { rows: { chain: string }[] };
  return rows.map((row) => row.chain);
}
