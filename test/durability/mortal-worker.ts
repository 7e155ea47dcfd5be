/** A worker in a process of its own that dies between what it has written and the answer of the task in which it wrote it. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { createAnchorActivities } from '../../activities/index.js';
import { openDatabase } from '../../db/knex.js';
import '../support/quiet-runtime.js';

const { MORTAL_TEMPORAL, MORTAL_NAMESPACE, MORTAL_QUEUE, MORTAL_DATABASE_URL, MORTAL_BUNDLE, MORTAL_AFTER } = process.env;
if (!MORTAL_TEMPORAL || !MORTAL_NAMESPACE || !MORTAL_QUEUE || !MORTAL_DATABASE_URL || !MORTAL_BUNDLE) throw new Error('the mortal worker is started by a test, which tells it where everything is');

let left = Number(MORTAL_AFTER);
const { applyAnchorCommand } = createAnchorActivities({ database: openDatabase({ url: MORTAL_DATABASE_URL, name: 'mortal-worker', poolMax: 2 }) });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: MORTAL_TEMPORAL }), namespace: MORTAL_NAMESPACE, taskQueue: MORTAL_QUEUE, workflowBundle: { codePath: MORTAL_BUNDLE },
  activities: {
    applyAnchorCommand: async (command: Parameters<typeof applyAnchorCommand>[0]) => {
      const outcome = await applyAnchorCommand(command);
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      return outcome;
    },
  },
});
process.on('disconnect', () => { process.exit(0); });
await worker.run();
