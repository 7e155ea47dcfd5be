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

/** Where every chain, or one, ends now. */
export async function chainHeads(db: Database | Tx, chain?: string): Promise<ChainHead[]> {
  const rows = await query<ChainHead>(
    db,
    `select chain, seq as rows, head from audit_chains where $1::text is null or chain = $2 order by chain`,
    [chain ?? null, chain ?? null],
  );
  return rows;
}

/** How many records the last checkpoint of each chain covers. */
export async function lastCheckpoints(db: Database | Tx): Promise<Map<string, number>> {
  const rows = await query<{ chain: string; rows: number }>(
    db,
    'select chain, max(seq) as rows from audit_checkpoints group by chain',
  );
  return new Map(rows.map((row) => [row.chain, row.rows]));
}

export async function checkpointsOf(db: Database | Tx, chain: string): Promise<StoredCheckpoint[]> {
  const rows = await query<StoredCheckpoint>(
    db,
    `select ${WHOLE} from audit_checkpoints where chain = $1 order by seq`,
    [chain],
  );
  return rows.map(whole);
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
  const rows = await query<StoredCheckpoint>(tx, `select ${WHOLE} from audit_checkpoints where id = $1`, [id]);
  return rows.map(whole)[0];
}

/** The newest checkpoint of a chain that covers record `seq`. */
export async function checkpointCovering(tx: Tx, chain: string, seq: number): Promise<StoredCheckpoint | undefined> {
  const rows = await query<StoredCheckpoint>(
    tx,
    `select ${WHOLE} from audit_checkpoints where chain = $1 and seq >= $2 order by seq desc limit 1`,
    [chain, seq],
  );
  return rows.map(whole)[0];
}

/** The hashes of a chain's first `rows` records side by side, 32 bytes each. */
export async function chainHashes(tx: Tx, chain: string, rows: number): Promise<Buffer> {
  const data = Buffer.alloc(32 * rows);
  let at = 0;
  while (at < rows) {
    const [batch] = await query<{ hashes: string | null }>(
      tx,
      `select string_agg(hash, '' order by seq) as hashes from audit_log where chain = $1 and seq > $2 and seq <= $3`,
      [chain, at, Math.min(at + 20_000, rows)],
    );
    const hashes = Buffer.from(batch?.hashes ?? '', 'hex');
    if (hashes.length === 0) throw new Error(`chain ${chain} ends at ${at}, not at ${rows}`);
    hashes.copy(data, 32 * at);
    at += hashes.length / 32;
  }
  return data;
}
