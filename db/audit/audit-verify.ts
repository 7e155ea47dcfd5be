import { statedOnly } from './audit-checkpoints.js';
import { GENESIS } from './audit-records.js';
import { faultAt } from './audit-lines.js';
import type { Sealed } from './audit-lines.js';
import { streamRecords, streamRecordsInPages } from './record-stream.js';
import { checkpointHash, isSignatureValid } from './audit-signing.js';
import type { Checkpoint } from './audit-signing.js';
import { checkpointsOf } from './audit-checkpoints.queries.js';
import { AuditChain } from '../models/audit.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface ChainReport {
  chain: string;
  valid: boolean;
  rows: number;
  head: string | null;
  checkpoints: number;
  first_bad_id?: string;
  fault?: string;
}
/** The checkpoints kept beside the database, by chain, and the public keys that are trusted (PEM by key id). */
export interface CheckpointTrust {
  checkpoints: ReadonlyMap<string, readonly Checkpoint[]>;
  keys: ReadonlyMap<string, string>;
}

interface Fault {
  seq: number;
  fault: string;
}

/** How far a chain has been recomputed. */
export interface Place {
  rows: number;
  head: string;
}
const START: Place = { rows: 0, head: GENESIS };

/**
 * Recomputes a chain from its first record: every hash, every link, no gap, the head that is kept beside it, and what
 * checkpoints have stated of it. `first_bad_id` is `chain/seq` of the first record that does not hold (for a chain cut
 * short, the first that is no more there).
 * @param db a transaction that sees one instant (repeatable read): records are sealed while this reads
 * @param outside without it the chain is held against itself alone. Read before the transaction began: a checkpoint is
 * kept outside only after it was committed, so the transaction sees each of them
 */
export async function verifyChain(db: Database | Tx, chain: string, outside?: CheckpointTrust): Promise<ChainReport> {
  const { report } = await verifyPart(db, chain, START, Number.MAX_SAFE_INTEGER, outside);
  return report!;
}

/**
 * `verifyChain` of at most so many records after `from`, for which an earlier part has answered.
 * @returns how far it came; the report where that is the end, or where something does not hold
 */
export async function verifyPart(
  db: Database | Tx,
  chain: string,
  from: Place,
  most: number,
  outside?: CheckpointTrust,
): Promise<{ at: Place; report?: ChainReport }> {
  const { trusted, fault: ofCheckpoints } = outside
    ? await checkpoints(db, chain, outside)
    : { trusted: [], fault: undefined };
  const walk = new Walk(trusted, from);
  const bad = ({ seq, fault }: Fault) => {
    const { rows, head } = walk.at;
    return {
      at: walk.at,
      report: {
        chain,
        valid: false,
        rows,
        head: rows === 0 ? null : head,
        checkpoints: trusted.length,
        first_bad_id: `${chain}/${seq}`,
        fault,
      },
    };
  };
  const until = Math.min(Number.MAX_SAFE_INTEGER, from.rows + most);
  await streamRecords(db, chain, from.rows, until, (record) => walk.on(record));
  // What does not hold as it is read quickly is read once more before it is called a fault.
  if (walk.fault) await streamRecordsInPages(db, chain, walk.again(), until, (record) => walk.on(record));
  if (walk.fault) return bad(walk.fault);
  const { rows, head } = walk.at;
  if (rows === until) return { at: walk.at };
  const last = trusted.at(-1);
  if (last && last.rows > rows)
    return bad({
      seq: rows + 1,
      fault: `the chain ends at ${rows}, the checkpoint of ${last.created_at} covers ${last.rows} records`,
    });
  const kept = await AuditChain.query(db).findById(chain).select('seq', 'head');
  if (kept && (kept.seq !== rows || kept.head !== head))
    return bad({ seq: rows + 1, fault: `the chain ends at ${rows}, its head says ${kept.seq}` });
  if (!kept && rows > 0) return bad({ seq: 1, fault: 'the chain has no head' });
  if (ofCheckpoints) return bad(ofCheckpoints);
  return {
    at: walk.at,
    report: { chain, valid: true, rows, head: rows === 0 ? null : head, checkpoints: trusted.length },
  };
}

/** Goes from record to record, each held against the one before it and against what a checkpoint has stated of it. */
class Walk {
  fault: Fault | undefined;
  private readonly stated: (seq: number, hash: string) => string | undefined;
  constructor(
    trusted: readonly Checkpoint[],
    public at: Place,
  ) {
    this.stated = witnesses(trusted);
  }

  /** @returns whether it holds */
  on(record: Sealed): boolean {
    const { rows, head } = this.at;
    const fault = faultAt(record, { seq: rows + 1, head }) ?? this.stated(record.seq, record.hash);
    if (fault) this.fault = { seq: Math.min(record.seq, rows + 1), fault };
    else this.at = { rows: rows + 1, head: record.hash };
    return fault === undefined;
  }

  /** Forgets the fault. @returns after how many records it was */
  again(): number {
    this.fault = undefined;
    return this.at.rows;
  }
}

/** Every chain of the database, those that only a record, a head or a checkpoint names too; and those of the folder. */
export async function allChains(db: Database | Tx, outside?: CheckpointTrust): Promise<string[]> {
  const chains: string[] = await db('audit_chains')
    .union([db('audit_log').distinct('chain'), db('audit_checkpoints').distinct('chain')])
    .pluck('chain');
  return [...new Set([...chains, ...(outside?.checkpoints.keys() ?? [])])].sort();
}

/**
 * A chain's checkpoints from the database and from outside whose signatures hold, and what is wrong with the others.
 */
async function checkpoints(
  db: Database | Tx,
  chain: string,
  { checkpoints: kept, keys }: CheckpointTrust,
): Promise<{ trusted: Checkpoint[]; fault?: Fault }> {
  const inside = (await checkpointsOf(db, chain)).map(statedOnly);
  const outside = kept.get(chain) ?? [];
  const known = new Set(inside.map(({ signature }) => signature));
  const all = [...inside, ...outside.filter(({ signature }) => !known.has(signature))].sort((a, b) => a.rows - b.rows);
  const trusted: Checkpoint[] = [];
  let fault: Fault | undefined;
  for (const checkpoint of all) {
    const named = `the checkpoint of ${checkpoint.created_at}`;
    const before = trusted.at(-1);
    if (checkpoint.chain !== chain || !isSignatureValid(checkpoint, keys)) {
      fault ??= {
        seq: checkpoint.rows,
        fault: keys.has(checkpoint.key_id)
          ? `the signature of ${named} does not hold`
          : `${named} is signed with a key that is not known here (${checkpoint.key_id})`,
      };
      continue;
    }
    if (!known.has(checkpoint.signature))
      fault ??= { seq: checkpoint.rows, fault: `${named} is no more in the database` };
    else if (checkpoint.previous !== (before ? checkpointHash(before) : null))
      fault ??= { seq: checkpoint.previous_rows, fault: `the checkpoint before ${named} is no more there` };
    trusted.push(checkpoint);
  }
  return { trusted, ...(fault && { fault }) };
}

/** Holds a record's hash against what the checkpoint that first covered it has stated. */
function witnesses(trusted: readonly Checkpoint[]): (seq: number, hash: string) => string | undefined {
  let at = 0;
  let prefixes: Buffer | undefined;
  return (seq, hash) => {
    while (at < trusted.length && seq > trusted[at]!.rows) {
      at += 1;
      prefixes = undefined;
    }
    const checkpoint = trusted[at];
    if (!checkpoint) return undefined;
    const other = `it is not the record that the checkpoint of ${checkpoint.created_at} has signed`;
    if (seq === checkpoint.rows && hash !== checkpoint.head) return other;
    prefixes ??= Buffer.from(checkpoint.witness, 'base64');
    const place = 8 * (seq - checkpoint.previous_rows - 1);
    // A chain whose earlier checkpoint is gone is held against the later one from where that begins.
    return place >= 0 && prefixes.toString('hex', place, place + 8) !== hash.slice(0, 16) ? other : undefined;
  };
}
