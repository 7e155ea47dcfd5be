import { raw } from 'objection';
import { AuditChain, AuditCheckpoint } from '../models/audit.js';
import type { Checkpoint } from './audit-signing.js';
import { query } from '../client/query.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface StoredCheckpoint extends Checkpoint {
  id: string;
  peaks: string;
}
export interface ChainHead {
  chain: string;
  rows: number;
  head: string;
}

const STATED = `id, chain, seq as rows, head, root, created_at, previous, previous_rows, key_id, public_key, signature`;
const WHOLE = `${STATED}, encode(witness, 'base64') as witness, peaks`;
/** PostgreSQL breaks base64 into lines. */
const whole = <T extends StoredCheckpoint>(row: T): T => ({ ...row, witness: row.witness.replaceAll('\n', '') });

/** The current head of every chain, or of one. */
export async function chainHeads(db: Database | Tx, chain?: string): Promise<ChainHead[]> {
  const found = AuditChain.query(db).orderBy('chain').select('chain', 'seq as rows', 'head');
  if (chain !== undefined) void found.where({ chain });
  return found.castTo<ChainHead[]>();
}

/** How many records the last checkpoint of each chain covers. */
export async function lastCheckpoints(db: Database | Tx): Promise<Map<string, number>> {
  const last = await AuditCheckpoint.query(db)
    .groupBy('chain')
    .select('chain')
    .max('seq as rows')
    .castTo<{ chain: string; rows: number }[]>();
  return new Map(last.map(({ chain, rows }) => [chain, rows]));
}

export async function checkpointsOf(db: Database | Tx, chain: string): Promise<StoredCheckpoint[]> {
  const stored = await AuditCheckpoint.query(db)
    .where({ chain })
    .orderBy('seq')
    .select(raw(WHOLE))
    .castTo<StoredCheckpoint[]>();
  return stored.map(whole);
}

export async function insertCheckpoint(
  tx: Tx,
  { rows, witness, ...rest }: Checkpoint & { peaks: string },
): Promise<string> {
  const [row] = (await tx('audit_checkpoints')
    .insert({ ...rest, seq: rows, witness: Buffer.from(witness, 'base64') })
    .returning('id')) as { id: string }[];
  return row!.id;
}

/** Checkpoints, newest first, without their witnesses. */
export async function listCheckpoints(
  tx: Tx,
  { chain, skip, limit }: { chain?: string | undefined; skip: number; limit: number },
): Promise<{ items: Omit<StoredCheckpoint, 'witness' | 'peaks'>[]; total: number }> {
  const of = tx('audit_checkpoints').modify((query) => {
    if (chain) void query.where({ chain });
  });
  const rows = (await of
    .clone()
    // Counted once, in the same round trip.
    .select(tx.raw(STATED), of.clone().count('*').as('total'))
    .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }])
    .offset(skip)
    .limit(limit)) as (Omit<StoredCheckpoint, 'witness' | 'peaks'> & { total: number })[];
  if (rows.length === 0 && skip > 0) {
    const [count] = await of.clone().count({ n: '*' });
    return { items: [], total: Number(count?.n ?? 0) };
  }
  return { items: rows.map(({ total: _total, ...item }) => item), total: Number(rows[0]?.total ?? 0) };
}

export async function checkpointById(tx: Tx, id: string): Promise<StoredCheckpoint | undefined> {
  const stored = await AuditCheckpoint.query(tx).findById(id).select(raw(WHOLE)).castTo<StoredCheckpoint | undefined>();
  return stored && whole(stored);
}

/** The newest checkpoint of a chain that covers record `seq`. */
export async function checkpointCovering(tx: Tx, chain: string, seq: number): Promise<StoredCheckpoint | undefined> {
  const stored = await AuditCheckpoint.query(tx)
    .where({ chain })
    .where('seq', '>=', seq)
    .orderBy('seq', 'desc')
    .select(raw(WHOLE))
    .first()
    .castTo<StoredCheckpoint | undefined>();
  return stored && whole(stored);
}

/** The hashes of a chain's first `rows` records side by side, 32 bytes each. */
export async function chainHashes(tx: Tx, chain: string, rows: number): Promise<Buffer> {
  const data = Buffer.alloc(32 * rows);
  let at = 0;
  while (at < rows) {
    const [batch] = await query<{ hashes: string | null }>(
      tx,
      `select string_agg(hash, '' order by seq) as hashes from audit_log where chain = $1 and seq > $2 and seq <= $3`,
      [chain, at, Math.min(at + 5_000, rows)],
    );
    const hashes = Buffer.from(batch?.hashes ?? '', 'hex');
    if (hashes.length === 0) throw new Error(`chain ${chain} ends at ${at}, not at ${rows}`);
    hashes.copy(data, 32 * at);
    at += hashes.length / 32;
  }
  return data;
}
