import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { builtServer } from '../../scripts/temporal-postgres/programs.js';
import { evaluate, participantAnchorId, workflowTypes } from '../../workflows/contract.js';
import { DAY, Stage } from '../anchor/stage.js';
import { incompatibleBundle } from '../replay/incompatible.js';
import { Cluster } from '../support/cluster.js';
import type { ClusterOptions } from '../support/cluster.js';
import { root } from '../support/environment.js';
import { Http } from '../support/http.js';
import type { Loose } from '../support/http.js';
import '../support/quiet-runtime.js';
import { readingSealed } from '../support/temporal.js';
import { until } from '../support/until.js';

const TOKEN = 'a-metrics-token-of-failing-runs.0123456789';
/** The worker looks every second here: how often it does by default is no matter of what it finds. */
const EVERY_SECONDS = '1';
/** A failing task is given again when its time is over, which is ten seconds by default. */
const TASK_TIMEOUT = '2s';
const SEEN = { timeout: 240_000, interval: 200 };
const MARKED_AFTER = 'system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute';

/**
 * The embedded server marks such runs, here after two failures instead of five; told not to, it is as one before 1.30,
 * which the server of production is.
 */
const SERVERS: Record<string, ClusterOptions> = {
  'the embedded one': { temporal: 'embedded', temporalConfigured: [`${MARKED_AFTER}=2`] },
  'the embedded one, which marks none': {
    temporal: 'embedded',
    temporalConfigured: [`${MARKED_AFTER}=0`],
  },
  'that of production': { temporal: 'postgres' },
};

/** How the embedded server is configured: each start reads it again. */
const configured: string[] = [];
/** The cluster that the next server can use as well, once it was started again with its own configuration. */
let embedded: Cluster | undefined;
after(() => embedded?.stop());

async function clusterOn({ temporal, temporalConfigured = [] }: ClusterOptions): Promise<Cluster> {
  const settings = { METRICS_TOKEN: TOKEN, FAILING_WORKFLOWS_INTERVAL_SECONDS: EVERY_SECONDS };
  if (temporal === 'postgres') return Cluster.start({ temporal, settings });
  configured.splice(0, Infinity, ...temporalConfigured);
  if (embedded) {
    await embedded.member('temporal').stop();
    await embedded.member('temporal').start();
    const http = new Http(embedded.run.api);
    await until(async () => (await http.get<Loose>('/api/health/detailed')).body.status === 'ok', {
      what: 'API and worker to have found the server again',
    });
  } else embedded = await Cluster.start({ temporal: 'embedded', temporalConfigured: configured, settings });
  return embedded;
}

for (const [server, options] of Object.entries(SERVERS)) {
  describe(`A workflow whose task fails again and again (Temporal: ${server})`, function failing() {
    this.timeout(900_000);
    let cluster: Cluster, stage: Stage;
    /** What the worker’s log had before. */
    let toldBefore = 0;
    before(async function prepare() {
      // Building it takes minutes: `npm run temporal:postgres -- --build`.
      if (options.temporal === 'postgres' && !builtServer(join(root, '.cache', 'temporal'))) return this.skip();
      cluster = await clusterOn(options);
      stage = await Stage.open(cluster.run);
      toldBefore = lines().length;
    });
    after(async () => {
      await stage?.close();
      if (options.temporal === 'postgres') await cluster?.stop();
    });

    /** A worker of another release works on the service's own task queue instead of the service's. */
    const underOtherRelease = async <T>(work: () => Promise<T>): Promise<T> => {
      const { code } = await incompatibleBundle();
      await cluster.member('worker1').stop();
      const connection = await NativeConnection.connect({ address: cluster.run.temporal });
      try {
        const worker = await Worker.create({
          connection,
          namespace: cluster.run.temporal_namespace,
          taskQueue: cluster.run.temporal_task_queue,
          workflowBundle: { code },
          ...readingSealed(cluster.run),
        });
        return await worker.runUntil(work);
      } finally {
        await connection.close();
        await cluster.member('worker1').start();
      }
    };
    const gauge = async (): Promise<Record<string, number>> => {
      const { text } = await new Http(cluster.run.api, TOKEN).get('/api/metrics/prometheus');
      return Object.fromEntries(
        [...text.matchAll(/^workflows_failing\{workflow_type="(\w+)"\} (\d+)$/gm)].map(([, type, n]) => [
          type,
          Number(n),
        ]),
      );
    };
    const lines = () =>
      readFileSync(join(cluster.dir.logs, 'worker1.log'), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{"'));
    const told = () =>
      lines()
        .slice(toldBefore)
        .map((line) => JSON.parse(line) as Loose & { level: number; msg: string });
    const health = () =>
      new Http(cluster.run.api).expect<{ dependencies: { worker: { status: string; detail?: string } } }>(
        200,
        'GET',
        '/api/health/detailed',
      );

    const commands = async (id: string) =>
      (await stage.sql('select 1 from anchor_commands where participant_id = ?', [id])).length;

    it('is found, told by type, and forgotten when it is fixed; one that works for long is none', async () => {
      const study = await stage.study({ prerequisites: { require_eligibility_confirmed: false } });
      const broken = await underOtherRelease(async () => {
        const person = await study.person();
        await stage.temporal.workflow.start(workflowTypes.participantAnchor, {
          workflowId: participantAnchorId(person.id),
          taskQueue: cluster.run.temporal_task_queue,
          args: [{ participant_id: person.id, study_id: study.id, site_id: null }],
          workflowTaskTimeout: TASK_TIMEOUT,
        });
        await until(
          async () =>
            (await stage.handle(person.id).fetchHistory()).events?.some(
              ({ timerStartedEventAttributes }) => timerStartedEventAttributes,
            ),
          { what: 'the other release to have taken its first step' },
        );
        return person;
      });
      const busy = await study.person();
      await busy.set(DAY);
      const before = await commands(busy.id);
      // An activity that takes as long as all of this: what it writes is held by another transaction.
      const lock = await stage.database.transaction();
      try {
        await lock.raw(`set local idle_in_transaction_session_timeout = 0`);
        await lock.raw('select 1 from anchor_dates where participant_id = ? for update', [busy.id]);
        await stage.handle(busy.id).startUpdate(evaluate, { args: [{}], waitForStage: 'ACCEPTED' });
        expect((await gauge()).participantAnchor).to.equal(0);
        await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/participants/${broken.id}/consents`, {
          status: 'signed',
          signed_at: '2024-03-01T09:00:00Z',
        });
        const { namespaceInfo } = await stage.temporal.workflowService.describeNamespace({
          namespace: cluster.run.temporal_namespace,
        });
        expect(
          namespaceInfo?.capabilities?.reportedProblemsSearchAttribute === true,
          'the server marks such runs',
        ).to.equal(server === 'the embedded one');

        const found = await until(
          async () => {
            const now = await gauge();
            return now.participantAnchor ? now : undefined;
          },
          { ...SEEN, what: 'the failing workflow to be found' },
        );
        expect(found.participantAnchor).to.equal(1);
        expect(Object.values(found).reduce((a, b) => a + b)).to.equal(1);
        expect(Object.keys(found)).to.include.members(['datacaptureTrigger', 'pushResults']);
        expect(await stage.sql('select workflow_id, workflow_type, problem from failing_workflows')).to.deep.equal([
          {
            workflow_id: participantAnchorId(broken.id),
            workflow_type: 'participantAnchor',
            problem: 'NonDeterministicError',
          },
        ]);
        expect((await health()).dependencies.worker).to.include({
          status: 'ok',
          detail: 'workflow tasks fail again and again: 1',
        });
        // Said a moment after it is counted.
        const named = await until(
          () => {
            const lines = told().filter(({ level, msg }) => level === 50 && msg.includes('fails again and again'));
            return lines.length > 0 ? lines : undefined;
          },
          { what: 'the log to say that it fails' },
        );
        expect(named.map(({ workflow_id, problem }) => [workflow_id, problem])).to.deep.equal([
          [participantAnchorId(broken.id), 'NonDeterministicError'],
        ]);
        expect((await stage.handle(busy.id).describe()).status.name, 'it still works').to.equal('RUNNING');
        expect(await commands(busy.id)).to.equal(before);
      } finally {
        await lock.rollback();
      }

      // As docs/OPERATIONS.md fixes a single run; the next message starts it again, from the database.
      await stage.handle(broken.id).terminate('its history does not fit');
      const anchor = `/api/studies/${study.id}/participants/${broken.id}/anchor-date`;
      await stage.admin.expect(200, 'POST', anchor, { enrollment_date: DAY });
      expect((await stage.admin.expect<Loose>(200, 'GET', anchor)).status).to.equal('finalized');
      await until(async () => (await gauge()).participantAnchor === 0, {
        ...SEEN,
        what: 'the repaired workflow to be forgotten',
      });
      expect((await health()).dependencies.worker).not.to.have.property('detail');
      await until(
        () =>
          Promise.resolve(
            told().some(
              ({ msg, workflow_ids }) =>
                msg === 'workflows fail no more' && (workflow_ids as string[]).includes(participantAnchorId(broken.id)),
            ),
          ),
        { what: 'the log to say that it fails no more' },
      );
    });
  });
}
