import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../support/ports.js';
import { login, newParticipant, newStudy } from '../support/http.js';
import { startService } from '../support/service.js';
import { until } from '../support/until.js';

interface Listed {
  items: { rows: number; signature: string }[];
}

describe('The metrics of audit checkpoints', function suite() {
  this.timeout(180_000);

  it('say that they are not kept outside, as long as they are not', async () => {
    const port = await freePort();
    const service = await startService({ WORKER_METRICS_PORT: String(port), AUDIT_CHECKPOINT_SECONDS: '0.5' });
    try {
      const failing = async () =>
        /^audit_checkpoints_failing (\d)$/m.exec(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())?.[1];
      const { http } = await login(service.run.api, service.run.admin_email, service.run.admin_password ?? '');
      const study = await newStudy(http);
      const file = join(service.dataDir, 'audit-checkpoints', `${study.id as string}.ndjson`);
      await until(() => existsSync(file) || undefined, { what: 'the first checkpoint of the study' });
      expect(await failing()).to.equal('0');

      // What cannot be written to, also by the user who may write everywhere.
      await until(() => {
        renameSync(file, `${file}.aside`);
        mkdirSync(file);
        return true;
      });
      await newParticipant(http, study.id);
      await until(async () => (await failing()) === '1' || undefined, { what: 'the metric to say so' });
      // Chains before and after it are signed all the same.
      for (const other of [await newStudy(http), await newStudy(http)])
        await until(() => existsSync(join(service.dataDir, 'audit-checkpoints', `${other.id as string}.ndjson`)), {
          what: 'a checkpoint of another study',
        });

      rmSync(file, { recursive: true });
      renameSync(`${file}.aside`, file);
      await until(async () => (await failing()) === '0' || undefined, { what: 'the metric to say that it is over' });
      const { items } = await http.expect<Listed>(200, 'GET', `/api/audit/checkpoints?study_id=${study.id as string}`);
      const outside = () =>
        readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { signature: string }).signature);
      await until(() => items.every(({ signature }) => outside().includes(signature)), {
        what: 'every checkpoint to be outside',
      });
      expect(outside()).to.include.members(items.map(({ signature }) => signature));
    } finally {
      await service.stop();
    }
  });
});
