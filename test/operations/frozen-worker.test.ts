import { expect } from 'chai';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { until } from '../support/until.js';

interface Detailed {
  status: string;
  dependencies: { worker: { status: string; detail?: string } };
}

describe('A worker that is frozen', function () {
  this.timeout(180_000);
  let started: Service;
  before(async () => {
    started = await startService();
  });
  after(() => started?.stop());

  const detailed = async (): Promise<Detailed> =>
    (await (await fetch(`${started.run.api}/api/health/detailed`)).json()) as Detailed;
  const becomes = (status: string) =>
    until(
      async () => {
        const health = await detailed();
        expect(health.dependencies.worker.status).to.equal(status);
        return health;
      },
      { what: `the worker to be ${status}`, timeout: 45_000, interval: 500 },
    );

  it('is down by its last sign of life, while its process is there, and ok again when it goes on', async () => {
    await becomes('ok');
    const pid = started.run.pids.worker!;
    process.kill(pid, 'SIGSTOP');
    try {
      const health = await becomes('down');
      expect(health.status).to.equal('down');
      expect(health.dependencies.worker.detail).to.match(/^no worker has shown a sign of life for \d+ seconds$/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await becomes('ok');
  });
});
