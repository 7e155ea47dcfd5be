/**
 * `npm run record:histories [-- name …]`: starts a service, leads workflows through the branches without a history (or
 * through the named ones), and writes their histories to test/replay/histories for the replay test. An existing history
 * is only overwritten if it is named: production runs were recorded by the old code, and a new recording would hide
 * that it no longer replays.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowHandle } from '@temporalio/client';
import { encryptionKeyBytes } from '../settings.js';
import { cleanUp, startService } from '../test/support/service.js';
import { opened, payloadKeyOf } from '../test/support/temporal.js';
import { EncryptionCodec } from '../workflows/util/payload-codec.js';

const { OtherRecording, QUICK } = await import('../test/replay/recording-others.js');
const service = await startService(QUICK);
// A history is stored unencrypted: its replay has no key.
const codec = new EncryptionCodec({ current: encryptionKeyBytes(payloadKeyOf(service.run))!, former: [] });
process.env.TEST_RUN_JSON = join(service.dataDir, 'run.json');
const { Recording } = await import('../test/replay/recording.js');

const named = process.argv.slice(2);
const folder = join(process.cwd(), 'test', 'replay', 'histories');
mkdirSync(folder, { recursive: true });
const wanted = (name: string) => (named.length > 0 ? named.includes(name) : !existsSync(join(folder, `${name}.json`)));

/** Identities (workers and their own queues have `process@machine`) do not matter for a replay. */
const withoutIdentities = (key: string, value: unknown) =>
  key === 'stackTrace' ? '' : typeof value === 'string' && /^\d+@/.test(value) ? 'recorder' : value;

async function save(name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<void> {
  const history = JSON.parse(historyToJSON(await opened(await handle.fetchHistory(), codec))) as { events: unknown[] };
  const lines = history.events.map((event) => JSON.stringify(event, withoutIdentities));
  writeFileSync(join(folder, `${name}.json`), `{"events":[\n${lines.join(',\n')}\n]}\n`);
  console.log(`${name}: ${lines.length} events`);
}

try {
  for (const [recording] of [[await Recording.start(save)], [await OtherRecording.start(save)]] as const) {
    try {
      for (const [name, branch] of Object.entries(recording.branches)) {
        if (!wanted(name)) continue;
        await branch().catch((fault: Error) => {
          process.exitCode = 1;
          console.error(`${name}: ${fault.message}`);
        });
      }
    } finally {
      await recording.stop();
    }
  }
} finally {
  await service.stop();
  await cleanUp();
}
process.exit();
