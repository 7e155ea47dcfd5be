import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createAnchorClient } from '../../workflows/client.js';
import {
  anchorState,
  cancelProposal,
  participantAnchorId,
  setEnrollmentDate,
  sourcesChanged,
  workflowTypes,
} from '../../workflows/contract.js';
import { brokenInvariants } from '../anchor/invariants.js';
import { workflowBundle } from '../anchor/small-runs.js';
import { DAY, Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import { payloadKeyOf } from '../support/temporal.js';
import { until } from '../support/until.js';

/** Workers of their own, each a process. */
class Workers {
  private readonly children: ChildProcess[] = [];

  /** @param dies after so many written commands; 0: never. @param slow which command takes its time; 0: none */
  async start({ run }: Stage, queue: string, dies: number, slow = 0): Promise<ChildProcess> {
    const program = fileURLToPath(new URL('mortal-worker.js', import.meta.url));
    const child = fork(program, [], {
      execArgv: process.execArgv,
      env: {
        ...process.env,
        MORTAL_TEMPORAL: run.temporal,
        MORTAL_NAMESPACE: run.temporal_namespace,
        MORTAL_QUEUE: queue,
        MORTAL_DATABASE_URL: run.database_url,
        MORTAL_BUNDLE: (await workflowBundle()).codePath,
        MORTAL_AFTER: String(dies),
        MORTAL_SLOW: String(slow),
        MORTAL_KEY: payloadKeyOf(run),
      },
    });
    this.children.push(child);
    return child;
  }

  end(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }
}

describe('A worker that', function () {
  this.timeout(180_000);
  let stage: Stage;
  const workers = new Workers();
  before(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    workers.end();
  });
  after(() => stage?.close());

  describe('dies after it has written and before Temporal knows', () => {
    it('leaves its task to another one; a message that came meanwhile is not taken for what was written', async () => {
      const study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
      const id = await personIn(stage, study.id);
      const queue = unique('mortal');
      const dies = await workers.start(stage, queue, 1);
      await createAnchorClient(stage.temporal, { taskQueue: queue, timeoutSeconds: 60 }).start({
        participant_id: id,
        study_id: study.id,
      });
      expect(await once(dies, 'exit')).to.deep.equal([null, 'SIGKILL']);
      expect(await stage.sql('select kind from anchor_commands where participant_id = ?', [id])).to.deep.equal([
        { kind: 'resume' },
      ]);
      const path = `/api/studies/${study.id}/participants/${id}`;
      await stage.admin.expect(201, 'POST', `${path}/consents`, {
        status: 'signed',
        signed_at: '2024-03-01T09:00:00Z',
      });
      await until(async () => (await stage.sql('select 1 from outbox where subject = ?', [id])).length === 0, {
        what: 'the message to be with Temporal',
      });
      await workers.start(stage, queue, 0);
      await until(async () => (await stage.admin.get(`${path}/anchor-date`)).body.status === 'finalized', {
        what: 'the consent to count',
      });
      expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    });
  });

  describe('loses its task to time, and is given it again with a message that was not there at first', () => {
    it('leaves a history that any worker can take up', async () => {
      const study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
      const id = await personIn(stage, study.id),
        participant = { participant_id: id, study_id: study.id };
      const queue = unique('slow'),
        messages = createAnchorClient(stage.temporal, { taskQueue: queue, timeoutSeconds: 60 });
      const slow = await workers.start(stage, queue, 0);
      await polled(stage, queue);
      // It has the task and pauses for most of the task's time; then its write waits, over the end of that time.
      slow.kill('SIGSTOP');
      const lock = await stage.database.transaction();
      let answer: ReturnType<typeof messages.update> | undefined;
      try {
        await lock.raw('select 1 from anchor_dates where participant_id = ? for update', [id]);
        await messages.start(participant);
        await until(async () => (await tasks(stage, id)) === 1, { what: 'the task to be with the worker' });
        await sleep(3_000);
        slow.kill('SIGCONT');
        await until(
          async () =>
            (
              await stage.sql(
                "select 1 from pg_stat_activity where application_name like '%mortal-worker%' and wait_event_type = 'Lock'",
              )
            ).length > 0,
          { interval: 50, what: 'the write to wait' },
        );
        const by = await adminOf(stage),
          given = await tasks(stage, id);
        answer = messages.update(
          setEnrollmentDate,
          participant,
          { actor_user_id: by, enrollment_date: DAY, reason: 'first visit' },
          unique('update'),
        );
        await until(async () => (await tasks(stage, id)) > given, { what: 'the task to be given again' });
      } finally {
        await lock.rollback();
      }
      expect((await answer).result).to.equal('proposed');
      slow.kill('SIGKILL');
      await workers.start(stage, queue, 0);
      await messages.sourcesChanged(participant, { actor_type: 'system' });
      await until(
        async () =>
          (
            await stage.sql<{ kind: string }>('select kind from anchor_commands where participant_id = ? order by 1', [
              id,
            ])
          ).length === 3,
        { what: 'another worker to take it up' },
      );
      expect((await stage.handle(id).query(anchorState))?.enrollment_date).to.equal(DAY);
      expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    });
  });
  describe('loses its task to time after some of the messages, and is given it again with one that was not there at first', () => {
    it('leaves a history that any worker can take up', async () => {
      const study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
      const id = await personIn(stage, study.id),
        participant = { participant_id: id, study_id: study.id };
      const queue = unique('overrun'),
        messages = createAnchorClient(stage.temporal, { taskQueue: queue, timeoutSeconds: 60 });
      const slow = await workers.start(stage, queue, 0, 2);
      await polled(stage, queue);
      slow.kill('SIGSTOP');
      // The second message ends the delay: both come with the first task.
      await stage.temporal.workflow.signalWithStart(workflowTypes.participantAnchor, {
        workflowId: participantAnchorId(id),
        taskQueue: queue,
        args: [{ ...participant, site_id: null }],
        workflowTaskTimeout: '5s',
        startDelay: '1 minute',
        signal: sourcesChanged,
        signalArgs: [{ actor_type: 'system' }],
      });
      await messages.sourcesChanged(participant, { actor_type: 'system' });
      await until(async () => (await tasks(stage, id)) === 1, { what: 'the task to be with the worker' });
      await sleep(3_000);
      slow.kill('SIGCONT');
      await until(
        async () => (await stage.sql('select 1 from anchor_commands where participant_id = ?', [id])).length === 1,
        { interval: 50, what: 'the first message to be carried out' },
      );
      const answer = messages.update(
        setEnrollmentDate,
        participant,
        { actor_user_id: await adminOf(stage), enrollment_date: DAY, reason: 'first visit' },
        unique('update'),
      );
      expect((await answer).result).to.equal('proposed');
      expect(await tasks(stage, id), 'the task was given again').to.be.greaterThan(1);
      slow.kill('SIGKILL');
      await workers.start(stage, queue, 0);
      expect(
        (await messages.update(cancelProposal, participant, { actor_user_id: await adminOf(stage) }, unique('cancel')))
          .result,
      ).to.equal('cancelled');
      expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    });
  });
});

/** How often a task of it was given to a worker. */
const tasks = async (stage: Stage, id: string): Promise<number> =>
  ((await stage.handle(id).fetchHistory()).events ?? []).filter(
    ({ workflowTaskStartedEventAttributes: started }) => started,
  ).length;

const polled = (stage: Stage, queue: string) =>
  until(
    async () =>
      (
        await stage.temporal.workflowService.describeTaskQueue({
          namespace: stage.run.temporal_namespace,
          taskQueue: { name: queue },
          taskQueueType: 1,
        })
      ).pollers?.length,
    { what: 'the worker to ask for tasks' },
  );

const adminOf = async (stage: Stage): Promise<string> =>
  (await stage.sql<{ id: string }>('select id from users where email = ?', [stage.run.admin_email]))[0]!.id;

/** Not by the API: the workflow would run on the service's own worker. */
async function personIn(stage: Stage, study: string): Promise<string> {
  const [person] = await stage.sql<{ id: string }>(
    `with made as (insert into participants (study_id, participant_code) values (?, ?) returning id, study_id), anchor as (insert into anchor_dates (participant_id, study_id) select id, study_id from made)
     select id from made`,
    [study, unique('P')],
  );
  return person!.id;
}
