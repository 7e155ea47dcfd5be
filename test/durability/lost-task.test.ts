import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createAnchorMessages } from '../../workflows/client.js';
import { brokenInvariants } from '../anchor/invariants.js';
import { workflowBundle } from '../anchor/small-runs.js';
import { Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import { until } from '../support/until.js';

describe('A worker that dies after it has written and before Temporal knows', function () {
  this.timeout(180_000);
  let stage: Stage;
  const children: ChildProcess[] = [];
  before(async () => { stage = await Stage.open(); });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await stage?.close();
  });

  /** @param dies after so many written commands; 0: never */
  async function worker(queue: string, dies: number): Promise<ChildProcess> {
    const program = fileURLToPath(new URL(`mortal-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
    const { run } = stage;
    const child = fork(program, [], {
      execArgv: process.execArgv,
      env: { ...process.env, MORTAL_TEMPORAL: run.temporal, MORTAL_NAMESPACE: run.temporal_namespace, MORTAL_QUEUE: queue, MORTAL_DATABASE_URL: run.database_url, MORTAL_BUNDLE: (await workflowBundle()).codePath, MORTAL_AFTER: String(dies) },
    });
    children.push(child);
    return child;
  }

  it('leaves its task to another one; a message that came meanwhile is not taken for what was written', async () => {
    const study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
    // Not by the API: its workflow would run on the service's own worker.
    const [person] = await stage.sql<{ id: string }>(
      `with made as (insert into participants (study_id, participant_code) values (?, ?) returning id, study_id), anchor as (insert into anchor_dates (participant_id, study_id) select id, study_id from made)
       select id from made`, [study.id, unique('P')]);
    const { id } = person!;
    const queue = unique('mortal');
    const dies = await worker(queue, 1);
    await createAnchorMessages(stage.temporal, { taskQueue: queue, timeoutSeconds: 20 }).start({ participant_id: id, study_id: study.id });
    expect(await once(dies, 'exit')).to.deep.equal([null, 'SIGKILL']);
    expect((await stage.sql('select kind from anchor_commands where participant_id = ?', [id]))).to.deep.equal([{ kind: 'resume' }]);
    const path = `/api/studies/${study.id}/participants/${id}`;
    await stage.admin.expect(201, 'POST', `${path}/consents`, { status: 'signed', signed_at: '2024-03-01T09:00:00Z' });
    await until(async () => (await stage.sql('select 1 from outbox where subject = ?', [id])).length === 0, { what: 'the message to be with Temporal' });
    await worker(queue, 0);
    await until(async () => (await stage.admin.get(`${path}/anchor-date`)).body.status === 'finalized', { what: 'the consent to count' });
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });
});
