/**
 * `node scripts/run.mjs scripts/record-histories [data folder]`: leads participants of the running service through
 * every branch of the workflows and writes their histories to test/replay/histories, where the replay test finds them.
 * Run it when a branch is added, never to make a failing replay pass: what runs in production was recorded by the old code.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowHandle } from '@temporalio/client';
import { readSettings } from '../settings.js';

const dataDir = process.argv[2] ?? readSettings().DATA_DIR;
process.env.TEST_RUN_JSON = join(dataDir, 'run.json');
JSON.parse(readFileSync(process.env.TEST_RUN_JSON, 'utf8'));
const { Recording } = await import('../test/replay/recording.js');

const folder = join(process.cwd(), 'test', 'replay', 'histories');
mkdirSync(folder, { recursive: true });

/** Who ran it and where (workers and their own queues bear `process@machine`) is no matter of a replay. */
const withoutIdentities = (key: string, value: unknown) => (key === 'stackTrace' ? '' : typeof value === 'string' && /^\d+@/.test(value) ? 'recorder' : value);

async function save(name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<void> {
  const history = JSON.parse(historyToJSON(await handle.fetchHistory())) as { events: unknown[] };
  const lines = history.events.map((event) => JSON.stringify(event, withoutIdentities));
  writeFileSync(join(folder, `${name}.json`), `{"events":[\n${lines.join(',\n')}\n]}\n`);
  console.log(`${name}: ${lines.length} events`);
}

const recording = await Recording.start(save);
try {
  for (const branch of recording.branches) await branch();
} finally {
  await recording.stop();
}
