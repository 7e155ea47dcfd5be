/** The bare worker: one workflow, one local activity, one INSERT; the worker's own defaults. */
import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import pg from 'pg';
import { answer } from '../child.js';
import type { BareRow } from './workflow.js';

const { BARE_DATABASE_URL, BARE_TEMPORAL, BARE_NAMESPACE, BARE_TASK_QUEUE } = process.env;
if (!BARE_DATABASE_URL || !BARE_TEMPORAL || !BARE_NAMESPACE || !BARE_TASK_QUEUE)
  throw new Error('the bare worker is started by the bench, which tells it where the servers are');

const logger = new DefaultLogger('WARN');
Runtime.install({ shutdownSignals: [], logger });
const pool = new pg.Pool({ connectionString: BARE_DATABASE_URL, max: 20 });
const connection = await NativeConnection.connect({ address: BARE_TEMPORAL });
const workflowsPath = fileURLToPath(new URL('workflow.js', import.meta.url));
const worker = await Worker.create({
  connection,
  namespace: BARE_NAMESPACE,
  taskQueue: BARE_TASK_QUEUE,
  // Bundled beforehand, as the service's workflows are.
  workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }),
  activities: {
    insertRow: async ({ id, body }: BareRow) => {
      await pool.query('insert into bench.commands (id, body) values ($1, $2)', [id, body]);
    },
  },
  maxConcurrentLocalActivityExecutions: 20,
  maxCachedWorkflows: 500,
  shutdownGraceTime: '1s',
});
process.on('SIGTERM', () => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
});
const running = worker.run();
answer({}, async () => undefined);
await running;
await connection.close();
await pool.end();
process.exit(0);
