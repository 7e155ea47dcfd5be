import { statedOnly, subtreesFault, treeAt } from './audit-checkpoints.js';
import { GENESIS } from './audit-records.js';
import { faultAt } from './audit-lines.js';
import type { Sealed } from './audit-lines.js';
import { streamRecords, streamRecordsInPages } from './record-stream.js';
import { checkpointHash, isSignatureValid } from './audit-signing.js';
import type { Checkpoint } from './audit-signing.js';
import { isKeyOf } from './checkpoint-trust.js';
import { checkpointsOf } from './audit-checkpoints.queries.js';
import type { StoredCheckpoint } from './audit-checkpoints.queries.js';
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

/** The progress of recomputing a chain. */
export interface ChainPosition {
  rows: number;
  head: string;
}
const START: ChainPosition = { rows: 0, head: GENESIS };

/**
 * Recomputes a chain from its first record: every hash, every link, no gap, its stored head, and its checkpoints.
 * `first_bad_id` is `chain/seq` of the first invalid record (of a truncated chain, the first missing one).
 * @param db a transaction with one snapshot (repeatable read): records are added meanwhile
 * @param outside without it the chain is only compared with itself. Read it before the transaction begins: a checkpoint
 * is stored outside only after its commit, so the transaction sees each of them
 */
export async function verifyChain(db: Database | Tx, chain: string, outside?: CheckpointTrust): Promise<ChainReport> {
  const { report } = await verifyPart(db, chain, START, Number.MAX_SAFE_INTEGER, outside);
  return report!;
}

/**
 * `verifyChain` for at most this many records after `from`; an earlier part verified those before.
 * @returns the progress; the report at the end or at the first fault
 */
export async function verifyPart(
  db: Database | Tx,
  chain: string,
  from: ChainPosition,
  most: number,
  outside?: CheckpointTrust,
): Promise<{ at: ChainPosition; report?: ChainReport }> {
  const { trusted, fault: ofCheckpoints } = outside
    ? await checkpoints(db, chain, outside)
    : { trusted: [], fault: undefined };
  const walk = new Walk(trusted, from);
  const bad = ({ seq, fault }: Fault) => {
    const { rows, head } = walk.place;
    return {
      at: walk.place,
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
  // A fault of the fast parser is confirmed by the slower one first.
  if (walk.fault) await streamRecordsInPages(db, chain, walk.again(), until, (record) => walk.on(record));
  if (walk.fault) return bad(walk.fault);
  const { rows, head } = walk.place;
  if (rows === until) return { at: walk.place };
  const last = trusted.at(-1);
  if (last && last.rows > rows)
    return bad({
      seq: rows + 1,
      fault: `the chain ends at ${rows}, the checkpoint of ${last.created_at} covers ${last.rows} records`,
    });
  const kept = await AuditChain.query(db).findById(chain).select('seq', 'head', 'study_id');
  if (kept && (kept.seq !== rows || kept.head !== head))
    return bad({ seq: rows + 1, fault: `the chain ends at ${rows}, its head says ${kept.seq}` });
  if (!kept && rows > 0) return bad({ seq: 1, fault: 'the chain has no head' });
  if (kept && (kept.study_id ?? 'service') !== chain) return bad({ seq: 1, fault: 'its head names another study' });
  if (ofCheckpoints) return bad(ofCheckpoints);
  return {
    at: walk.place,
    report: { chain, valid: true, rows, head: rows === 0 ? null : head, checkpoints: trusted.length },
  };
}

/** Compares each record with the one before it and with its checkpoint. */
class Walk {
  fault: Fault | undefined;
  private readonly stated: (seq: number, hash: string) => string | undefined;
  constructor(
    trusted: readonly Checkpoint[],
    public place: ChainPosition,
  ) {
    this.stated = witnesses(trusted);
  }

  /** @returns whether it is valid */
  on(record: Sealed): boolean {
    const { rows, head } = this.place;
    const fault = faultAt(record, { seq: rows + 1, head }) ?? this.stated(record.seq, record.hash);
    if (fault) this.fault = { seq: Math.min(record.seq, rows + 1), fault };
    else this.place = { rows: rows + 1, head: record.hash };
    return fault === undefined;
  }

  /** Clears the fault. @returns the number of valid records before it */
  again(): number {
    this.fault = undefined;
    return this.place.rows;
  }
}

/** Every chain of the database, also one that only a record, a head or a checkpoint names; and those of the folder. */
export async function allChains(db: Database | Tx, outside?: CheckpointTrust): Promise<string[]> {
  const chains: string[] = await db('audit_chains')
    .union([db('audit_log').distinct('chain'), db('audit_checkpoints').distinct('chain')])
    .pluck('chain');
  return [...new Set([...chains, ...(outside?.checkpoints.keys() ?? [])])].sort();
}

/** A chain's checkpoints with valid signatures, from database and folder, and the faults of the others. */
async function checkpoints(
  db: Database | Tx,
  chain: string,
  { checkpoints: kept, keys }: CheckpointTrust,
): Promise<{ trusted: Checkpoint[]; fault?: Fault }> {
  const stored = await checkpointsOf(db, chain);
  const inside = stored.map(statedOnly);
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
  fault ??= faultBeside(stored);
  return { trusted, ...(fault && { fault }) };
}

/** What the database keeps with a checkpoint without its being signed: the next one could not be made from it. */
function faultBeside(stored: readonly StoredCheckpoint[]): Fault | undefined {
  for (const checkpoint of stored) {
    const { rows, created_at } = checkpoint;
    if (!treeAt(checkpoint)) return { seq: rows, fault: subtreesFault(checkpoint) };
    if (!isKeyOf(checkpoint))
      return { seq: rows, fault: `the public key with the checkpoint of ${created_at} is not the one that it names` };
  }
  return undefined;
}

/** Compares a record's hash with the first checkpoint that covers it. */
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
    // A chain without its earlier checkpoint is compared with the later one from where that begins.
    return place >= 0 && prefixes.toString('hex', place, place + 8) !== hash.slice(0, 16) ? other : undefined;
  };
}
