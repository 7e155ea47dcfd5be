/**
 * DBOS Transact doing the same steps on the same PostgreSQL: a workflow for each request, one checkpointed step in it
 * that is the service's own activity (facts, decision, anchor, history, schedule, visits, audit records, events). Koa
 * in front asks nobody who calls.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DBOS } from '@dbos-inc/dbos-sdk';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { createAnchorActivities } from '../../../activities/index.js';
import { openDatabase } from '../../../db/client/knex.js';
import { answer } from '../child.js';

const { BARE_DATABASE_URL, BARE_DBOS_URL, BARE_ADMIN } = process.env;
if (!BARE_DATABASE_URL || !BARE_DBOS_URL || !BARE_ADMIN)
  throw new Error('this program is started by the bench, which tells it where the database is');

const database = openDatabase({ url: BARE_DATABASE_URL, poolMax: 20, name: 'bench-dbos' });
const { applyAnchorCommand } = createAnchorActivities({ database });
// As many connections of its own as the service's worker has; half of them may wait for answers at a time.
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: BARE_DBOS_URL, systemDatabasePoolSize: 20, logLevel: 'error' });
const setAnchor = DBOS.registerWorkflow(
  async (study_id: string, participant_id: string, enrollment_date: string) => {
    const id = DBOS.workflowID!;
    const { result } = await DBOS.runStep(
      () =>
        applyAnchorCommand({
          id,
          study_id,
          participant_id,
          kind: 'set',
          message: { enrollment_date, actor_user_id: BARE_ADMIN, actor_type: 'user' },
        }),
      { name: 'applyAnchorCommand' },
    );
    return result;
  },
  { name: 'setAnchor' },
);
await DBOS.launch();

const app = new Koa();
app.use(koaBody());
app.use(async (ctx) => {
  const [, , , study, , participant] = ctx.path.split('/');
  const { enrollment_date } = ctx.request.body as { enrollment_date: string };
  ctx.body = { result: await setAnchor(study!, participant!, enrollment_date) };
});
const handler = app.callback();
const server = createServer((request, response) => {
  void handler(request, response);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('SIGTERM', () => {
  void DBOS.shutdown()
    .then(() => database.destroy())
    .then(() => process.exit(0));
});
answer({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, async () => undefined);
