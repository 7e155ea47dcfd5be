/**
 * A worker in a process of its own that dies between what it has written and the answer of the task in which it wrote
 * it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createAnchorActivities } from '../../activities/index.js';
import { openDatabase } from '../../db/client/knex.js';
import { encryptionKeyBytes } from '../../settings.js';
import { dataConverterOf } from '../../workflows/util/payload-codec.js';
import '../support/quiet-runtime.js';

/** With the time that its task has had already: longer than a task may take. */
const SLOW_MS = 3_500;

const {
  MORTAL_TEMPORAL,
  MORTAL_NAMESPACE,
  MORTAL_QUEUE,
  MORTAL_DATABASE_URL,
  MORTAL_BUNDLE,
  MORTAL_AFTER,
  MORTAL_SLOW,
  MORTAL_KEY,
} = process.env;
if (!MORTAL_TEMPORAL || !MORTAL_NAMESPACE || !MORTAL_QUEUE || !MORTAL_DATABASE_URL || !MORTAL_BUNDLE || !MORTAL_KEY)
  throw new Error('the mortal worker is started by a test, which tells it where everything is');

let left = Number(MORTAL_AFTER),
  taken = 0;
const { applyAnchorCommand } = createAnchorActivities({
  database: openDatabase({ url: MORTAL_DATABASE_URL, name: 'mortal-worker', poolMax: 2 }),
});
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: MORTAL_TEMPORAL }),
  namespace: MORTAL_NAMESPACE,
  taskQueue: MORTAL_QUEUE,
  workflowBundle: { codePath: MORTAL_BUNDLE },
  dataConverter: dataConverterOf({ current: encryptionKeyBytes(MORTAL_KEY)!, former: [] }, 'open')!,
  activities: {
    applyAnchorCommand: async (command: Parameters<typeof applyAnchorCommand>[0]) => {
      taken += 1;
      if (String(taken) === MORTAL_SLOW) await sleep(SLOW_MS);
      const outcome = await applyAnchorCommand(command);
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      return outcome;
    },
  },
});
process.on('disconnect', () => {
  process.exit(0);
});
await worker.run();
