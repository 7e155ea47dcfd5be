import { nowIso } from '../client/clock.js';
import type { CheckpointFolder } from './audit-folder.js';
import { GENESIS, recordsAfter } from './audit-records.js';
import { statedOnly } from './audit-checkpoints.js';
import type { Checkpoint } from './audit-signing.js';
import { chainHeads, checkpointsOf, lastCheckpoints } from './audit-checkpoints.queries.js';
import type { ChainHead } from './audit-checkpoints.queries.js';
import { readInScope } from '../client/transaction.js';
import type { Database } from '../client/database.js';

/**
 * The lines of an export (NDJSON), for a verifier without database or service: a first line that names the chains, each
 * chain's records in order with its checkpoints, and a last line with the counts, which reveals a truncated export.
 * Records are only ever added: batches up to the heads at the start are as consistent as one transaction, and a slow
 * reader keeps no transaction open.
 * @param only one chain; not given: all, also those with checkpoints only
 */
export async function* exportLines(
  database: Database,
  folder: CheckpointFolder,
  only?: string,
): AsyncGenerator<string> {
  const exported_at = nowIso();
  const chains = await chainsOf(database, folder, only);
  yield line({ audit_export: 1, exported_at, chains });
  let records = 0,
    checkpoints = 0;
  for (const { chain, rows } of chains) {
    for (let at = 0; at < rows; at += BATCH) {
      const lines = await readInScope(database, '*', async (tx) => {
        const found: string[] = [];
        for await (const batch of recordsAfter(tx, chain, at, Math.min(at + BATCH, rows)))
          for (const record of batch) found.push(line({ record }));
        return found;
      });
      records += lines.length;
      if (lines.length > 0) yield lines.join('');
    }
    for (const checkpoint of await checkpointsOfBoth(database, folder, chain)) {
      if (checkpoint.checkpoint.created_at > exported_at) continue;
      checkpoints += 1;
      yield line(checkpoint);
    }
  }
  yield line({ end: { records, checkpoints } });
}

async function chainsOf(database: Database, folder: CheckpointFolder, only: string | undefined): Promise<ChainHead[]> {
  const heads = await chainHeads(database, only);
  const named = [...(await lastCheckpoints(database)).keys(), ...(await folder.chains())];
  const gone = [...new Set(named)].filter(
    (chain) => (only === undefined || chain === only) && !heads.some((head) => head.chain === chain),
  );
  return [...heads, ...gone.map((chain) => ({ chain, rows: 0, head: GENESIS }))];
}

/** A chain's checkpoints of the database and of the folder; `outside_only`: the database no longer has it. */
async function checkpointsOfBoth(
  database: Database,
  folder: CheckpointFolder,
  chain: string,
): Promise<{ checkpoint: Checkpoint; outside_only?: true }[]> {
  const inside = (await checkpointsOf(database, chain)).map(statedOnly);
  const known = new Set(inside.map(({ signature }) => signature));
  const outside = (await folder.read(chain))
    .filter(({ signature }) => !known.has(signature))
    .map((checkpoint) => ({ checkpoint, outside_only: true as const }));
  return [...inside.map((checkpoint) => ({ checkpoint })), ...outside].sort(
    (a, b) => a.checkpoint.rows - b.checkpoint.rows,
  );
}

const BATCH = 2000;
const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
