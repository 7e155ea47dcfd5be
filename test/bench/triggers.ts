import { randomUUID } from 'node:crypto';
import { startSimulator } from '../capture-simulator/server.js';
import { connectedStudy, recordId, trigger } from './capture-study.js';
import { startChild } from './child.js';
import type { Figure } from './figure.js';
import type { Stream } from './load.js';
import { compared, inPairs } from './pairs.js';
import type { Stage } from './stage.js';

const CONNECTIONS = 64,
  SECONDS = 3,
  RECORDS = 5_000;

/**
 * P3: a signed trigger is accepted, its event committed with the message that starts its processing; compared with bare
 * Koa with an HMAC and one INSERT. The worker works off what comes in meanwhile: it reads records of a capture system
 * and enrolls their participants.
 */
export async function triggerFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  const secret = `s-${randomUUID()}`;
  const bare = await startChild<object, object, { url: string }>('bare/api.js', {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_SECRET: secret,
  });
  try {
    const { projectId } = await connectedStudy(stage, simulator, secret, RECORDS);
    const requests = Array.from({ length: RECORDS }, (_, i) => trigger(projectId, recordId(i), secret));
    const ours: Stream = {
      kind: 'stream',
      url: stage.service.run.api,
      connections: CONNECTIONS,
      seconds: SECONDS,
      requests,
    };
    const pairs = await inPairs(
      rounds,
      async () => {
        await workedOff(stage);
        const before = await kept(stage, projectId);
        const measured = await stage.load.ask(ours);
        const inTable = (await kept(stage, projectId)) - before;
        if (inTable < measured.count)
          throw new Error(`${measured.count} triggers were accepted, ${inTable} are in the table`);
        return measured;
      },
      async () => {
        await workedOff(stage);
        return stage.load.ask({ ...ours, url: bare.ready.url });
      },
    );
    await workedOff(stage);
    return [
      {
        name: 'P3',
        what: 'a signed trigger accepted and committed, 64 connections',
        ...compared(pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 0.7 },
        unit: 'triggers/s',
      },
    ];
  } finally {
    await bare.stop();
    await simulator.stop();
  }
}

async function kept(stage: Stage, projectId: string): Promise<number> {
  const { rows } = await stage.sql.query<{ kept: number }>(
    'select count(*)::integer as kept from webhook_events where project_id = $1',
    [projectId],
  );
  return rows[0]!.kept;
}

/**
 * A round leaves thousands of triggers behind, minutes of work. What has not been begun is taken back, what has been
 * is finished, so that the next side of a pair starts on an idle machine.
 */
async function workedOff(stage: Stage): Promise<void> {
  await stage.sql.query(`delete from outbox where topic = 'trigger'`);
  await stage.quiet();
}
