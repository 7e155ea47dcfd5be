import { nowIso } from '../client/clock.js';
import type { CheckpointFolder } from './audit-folder.js';
import { GENESIS, faultOf, recordsAfter } from './audit-records.js';
import { checkpointHash, isSignatureValid, signedText } from './audit-signing.js';
import type { AuditSigner, Checkpoint } from './audit-signing.js';
import { GrowingTree } from './merkle.js';
import { chainHeads, checkpointsOf, insertCheckpoint, lastCheckpoints } from './audit-checkpoints.queries.js';
import type { StoredCheckpoint } from './audit-checkpoints.queries.js';
import { execute } from '../client/query.js';
import { withStudyScope } from '../client/transaction.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface ChainFault {
  chain: string;
  first_bad_id: string;
  fault: string;
}
export interface Checkpointed {
  made: (Checkpoint & { id: string })[];
  faults: ChainFault[];
}

/** A chain that differs from its last checkpoint: no new checkpoint is signed. */
class BrokenChain extends Error {
  constructor(
    readonly chain: string,
    readonly seq: number,
    readonly fault: string,
  ) {
    super(`${chain}/${seq}: ${fault}`);
  }
}

/**
 * The last run of this process. The next ones wait for it without a connection: the one at work needs a second one, and
 * would not get it if those that wait for the lock had them all.
 */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Signs every chain, or one, that grew since its last checkpoint, and stores the checkpoint in the database and in the
 * folder. A checkpoint is signed only if it continues the last one in both places: the new records are recomputed
 * first. Only one process of the database does this at a time. A failure, as of a file, is thrown after the other
 * chains.
 * @returns the new checkpoints, and the unsigned chains with the reason
 */
export function makeCheckpoints(
  database: Database,
  by: { signer: AuditSigner; folder: CheckpointFolder },
  only?: string,
): Promise<Checkpointed> {
  const own = turn.then(() => signChains(database, by, only));
  // The caller learns of its own failure; the next run only waits for the end.
  turn = own.catch(() => undefined);
  return own;
}
async function signChains(
  database: Database,
  { signer, folder }: { signer: AuditSigner; folder: CheckpointFolder },
  only?: string,
): Promise<Checkpointed> {
  await folder.prepare(signer);
  const result: Checkpointed = { made: [], faults: [] };
  const failures: Error[] = [];
  await database.transaction(async (lock) => {
    // A first checkpoint of a long chain is slow and has its own transaction; the lock is held meanwhile.
    await execute(
      lock,
      `select set_config('idle_in_transaction_session_timeout', '0', true),
        pg_advisory_xact_lock(hashtext('audit-checkpoints'))`,
    );
    const [heads, last, keys] = [await chainHeads(lock, only), await lastCheckpoints(lock), await folder.keys()];
    const outside = new Set(await folder.chains());
    for (const { chain, rows, head } of heads) {
      const known = last.get(chain);
      try {
        // Nothing new, and already in the folder.
        if (
          rows === (known ?? 0) &&
          (known === undefined || (outside.has(chain) && (await folder.endsAt(chain, rows))))
        )
          continue;
        const stored = await checkpointsOf(lock, chain);
        const previous = await lastOf(chain, stored, folder, keys);
        if (rows < (previous?.rows ?? 0))
          throw new BrokenChain(chain, rows + 1, `the chain ends at ${rows}, a checkpoint covers ${previous!.rows}`);
        const kept: Checkpoint[] = stored.map(statedOnly);
        if (rows > (previous?.rows ?? 0)) {
          const made = await withStudyScope(database, '*', ({ tx }) =>
            extend(tx, { chain, rows, head }, previous, signer),
          );
          result.made.push(made);
          kept.push(statedOnly(made));
        }
        // After the commit: a line that is missing outside is added by the next run; a surplus line would look like a
        // deletion.
        await folder.keep(chain, kept);
      } catch (fault) {
        if (fault instanceof BrokenChain)
          result.faults.push({ chain, first_bad_id: `${chain}/${fault.seq}`, fault: fault.fault });
        // The file of one chain keeps no other unsigned.
        else failures.push(fault as Error);
      }
    }
  });
  if (failures[0]) throw failures[0];
  return result;
}

/**
 * The last checkpoint of a chain, the same in the database and outside. @throws BrokenChain when they differ or its
 * signature does not hold
 */
async function lastOf(
  chain: string,
  stored: readonly StoredCheckpoint[],
  folder: CheckpointFolder,
  keys: ReadonlyMap<string, string>,
): Promise<StoredCheckpoint | undefined> {
  const inside = stored.at(-1);
  const outside = (await folder.read(chain)).at(-1);
  if (outside && outside.rows > (inside?.rows ?? 0))
    throw new BrokenChain(chain, outside.rows, `the checkpoint of ${outside.created_at} is no more in the database`);
  if (inside && !isSignatureValid(statedOnly(inside), keys))
    throw new BrokenChain(chain, inside.rows, `the signature of the checkpoint of ${inside.created_at} does not hold`);
  return inside;
}

/** The signed content, without the database's additional columns. */
export const statedOnly = ({
  chain,
  rows,
  head,
  root,
  created_at,
  previous,
  previous_rows,
  witness,
  key_id,
  public_key,
  signature,
}: Checkpoint): Checkpoint => ({
  chain,
  rows,
  head,
  root,
  created_at,
  previous,
  previous_rows,
  witness,
  key_id,
  public_key,
  signature,
});

async function extend(
  tx: Tx,
  now: { chain: string; rows: number; head: string },
  previous: StoredCheckpoint | undefined,
  signer: AuditSigner,
): Promise<Checkpoint & { id: string }> {
  const { chain } = now;
  const tree = treeOf(chain, previous);
  let head = previous?.head ?? GENESIS;
  const witness: Buffer[] = [];
  for await (const batch of recordsAfter(tx, chain, tree.size, now.rows)) {
    for (const row of batch) {
      const fault = faultOf(row, { seq: tree.size + 1, head });
      if (fault) throw new BrokenChain(chain, row.seq, fault);
      const hash = Buffer.from(row.hash, 'hex');
      tree.append(hash);
      witness.push(hash.subarray(0, 8));
      head = row.hash;
    }
  }
  if (tree.size !== now.rows || head !== now.head)
    throw new BrokenChain(chain, tree.size + 1, `the chain ends at ${tree.size}, its head says ${now.rows}`);
  const unsigned: Checkpoint = {
    chain,
    rows: tree.size,
    head,
    root: tree.root().toString('hex'),
    created_at: nowIso(),
    previous: previous ? checkpointHash(statedOnly(previous)) : null,
    previous_rows: previous?.rows ?? 0,
    witness: Buffer.concat(witness).toString('base64'),
    key_id: signer.keyId,
    public_key: signer.publicKey,
    signature: '',
  };
  const signed = { ...unsigned, signature: signer.sign(signedText(unsigned)) };
  return { ...signed, id: await insertCheckpoint(tx, { ...signed, peaks: tree.peaksText() }) };
}

/** The tree at the last checkpoint. @throws BrokenChain */
function treeOf(chain: string, previous: StoredCheckpoint | undefined): GrowingTree {
  if (!previous) return new GrowingTree();
  const tree = treeAt(previous);
  if (!tree) throw new BrokenChain(chain, previous.rows, subtreesFault(previous));
  return tree;
}

/** The tree at a checkpoint; undefined: the subtrees kept with it do not give the signed root. */
export function treeAt({ rows, peaks, root }: StoredCheckpoint): GrowingTree | undefined {
  const tree = GrowingTree.from(rows, peaks);
  return tree?.root().toString('hex') === root ? tree : undefined;
}
export const subtreesFault = ({ created_at }: StoredCheckpoint): string =>
  `the subtrees kept with the checkpoint of ${created_at} do not give the root that was signed`;
