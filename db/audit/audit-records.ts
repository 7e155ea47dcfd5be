import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** A record as it is stored and hashed; created_at in microseconds. */
export interface AuditRow {
  seq: number;
  chain: string;
  study_id: string | null;
  user_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string | null;
  audit_metadata: unknown;
  request_id: string | null;
  created_at: string;
  prev_hash: string;
  hash: string;
  hash_version: number;
}

/** The previous hash of a chain's first record. */
export const GENESIS = '0'.repeat(64);
const BATCH = 2000;
/** A record's time in its hashed form. */
export const HASHED_COLUMNS =
  `to_char(audit_log.created_at at time zone 'UTC', ` + `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at`;
const COLUMNS =
  'seq, chain, study_id, user_id, action, resource_type, resource_id, audit_metadata, request_id, ' +
  `${HASHED_COLUMNS}, prev_hash, hash, hash_version`;

/** The hashed bytes of a record: the previous hash and its canonical JSON. */
export function recordBytes({ prev_hash, hash: _hash, ...record }: AuditRow): string {
  return prev_hash + canonicalJson(record);
}

/** SHA-256 over `recordBytes`. */
export const recordHash = (row: AuditRow): string => hash('sha256', recordBytes(row), 'hex');

/** The records of a chain after `seq`, in order, in batches; up to `until` where it is given. */
export async function* recordsAfter(
  db: Database | Tx,
  chain: string,
  seq: number,
  until = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<AuditRow[]> {
  for (let at = seq; at < until;) {
    const rows: AuditRow[] = await db('audit_log')
      .where({ chain })
      .where('seq', '>', at)
      .where('seq', '<=', until)
      .orderBy('seq')
      .limit(BATCH)
      .select(db.raw(COLUMNS));
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) return;
    at = rows.at(-1)!.seq;
  }
}

/** Describes the fault of a record at its place in the chain; undefined: it is valid. */
export function faultOf(row: AuditRow, place: { seq: number; head: string }): string | undefined {
  if (row.seq !== place.seq) return `record ${place.seq} is missing`;
  if (row.prev_hash !== place.head) return 'it does not follow the record before it';
  if (row.hash !== recordHash(row)) return 'its content is not what was sealed';
  return undefined;
}

export async function recordBySeq(tx: Tx, chain: string, seq: number): Promise<AuditRow | undefined> {
  return tx('audit_log').where({ chain, seq }).first(tx.raw(COLUMNS)) as Promise<AuditRow | undefined>;
}
