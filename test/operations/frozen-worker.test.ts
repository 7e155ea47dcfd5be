import { hostname } from 'node:os';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { until } from '../support/until.js';

interface Detailed {
  status: string;
  dependencies: { worker: { status: string; detail?: string; known?: number; silent?: number } };
}

describe('Workers that are frozen', function () {
  this.timeout(240_000);
  const METRICS_TOKEN = 'a-metrics-token-of-operators.0123456789';
  let cluster: Cluster, stage: Stage;
  before(async () => {
    cluster = await Cluster.start({ workers: 2, settings: { METRICS_TOKEN } });
    stage = await Stage.open(cluster.run);
  });
  after(async () => {
    await stage?.close();
    await cluster?.stop();
  });

  const detailed = async (): Promise<Detailed> =>
    (await (await fetch(`${cluster.run.api}/api/health/detailed`)).json()) as Detailed;
  const becomes = (status: string, known: number, silent: number) =>
    until(
      async () => {
        const { status: all, dependencies } = await detailed();
        const told = `${all}, ${dependencies.worker.known} known, ${dependencies.worker.silent} silent`;
        expect(told, JSON.stringify(dependencies)).to.equal(`${status}, ${known} known, ${silent} silent`);
        return true;
      },
      { what: `the service to be ${status}`, timeout: 60_000, interval: 500 },
    );
  const figures = async (): Promise<string[]> => {
    const answer = await fetch(`${cluster.run.api}/api/metrics/prometheus`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    return (await answer.text()).split('\n').filter((line) => /^workers?_/.test(line));
  };

  it('all: the service is down by their last sign of life, while their processes are there, and ok again when they go on', async () => {
    await becomes('ok', 2, 0);
    const workers = ['worker1', 'worker2'].map((name) => cluster.member(name));
    await Promise.all(workers.map((worker) => worker.freeze()));
    try {
      const health = await until(
        async () => {
          const seen = await detailed();
          expect(seen.dependencies.worker.status).to.equal('down');
          return seen;
        },
        { what: 'the worker to be down', timeout: 60_000, interval: 500 },
      );
      expect(health.status).to.equal('down');
      expect(health.dependencies.worker.detail).to.match(/^no worker has shown a sign of life for \d+ seconds$/);
    } finally {
      for (const worker of workers) worker.thaw();
    }
    await becomes('ok', 2, 0);
  });

  it('one of two: it is told and named until another has taken its place', async () => {
    await becomes('ok', 2, 0);
    expect(await figures()).to.deep.equal(['workers_known 2', 'workers_silent 0']);
    // Each has shown a sign since the last of them began: none has taken the place of another.
    await until(
      async () =>
        (
          await stage.sql<{ all: boolean }>(
            'select min(seen_at) > max(started_at) as all from worker_signs where pid is not null',
          )
        )[0]!.all,
      { what: 'a sign of each worker' },
    );
    const frozen = cluster.member('worker2');
    const { pid } = frozen;
    await frozen.freeze();
    try {
      await becomes('degraded', 2, 1);
      expect((await detailed()).dependencies.worker.detail).to.match(
        /^1 of 2 workers: no sign of life for \d+ seconds$/,
      );
      const [known, silent, named] = await figures();
      expect([known, silent]).to.deep.equal(['workers_known 2', 'workers_silent 1']);
      expect(named).to.match(new RegExp(`^worker_silent_seconds\\{host="${hostname()}",pid="${pid!}"\\} \\d+`));
    } finally {
      frozen.thaw();
    }
    await becomes('ok', 2, 0);
    await frozen.kill();
    await becomes('degraded', 2, 1);
    await frozen.start();
    await becomes('ok', 2, 0);
    await frozen.stop();
    await becomes('ok', 1, 0);
  });
});
