import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { login, newStudy } from '../support/http.js';
import { failedStart, startService } from '../support/service.js';

describe('Another DATACAPTURE_ENCRYPTION_KEY', function suite() {
  this.timeout(300_000);

  it('is taken after the rotation that docs/OPERATIONS.md describes, by the folder of the running service alone', async () => {
    const key = randomBytes(32).toString('hex');
    const first = await startService();
    const { dataDir } = first;
    const rotate = () =>
      failedStart({ DATA_DIR: dataDir, DATACAPTURE_ENCRYPTION_KEY: key }, [
        process.execPath,
        'dist/scripts/rotate-datacapture-key.js',
        '--old-key-file',
        join(dataDir, 'keys', 'DATACAPTURE_ENCRYPTION_KEY'),
      ]);
    try {
      const { http } = await login(first.run.api, first.run.admin_email, first.run.admin_password ?? '');
      const study = await newStudy(http);
      const subscription = { url: 'http://127.0.0.1:9/', events: ['ENROLLMENT_DATE_SET'] };
      await http.expect(201, 'POST', `/api/studies/${study.id as string}/event-subscriptions`, subscription);
    } finally {
      await first.stop();
    }
    // Nothing runs: the folder names no database.
    const stopped = await rotate();
    expect([stopped.code, stopped.output]).to.deep.equal([1, stopped.output]);
    expect(stopped.output).to.contain(`No database: set DATABASE_URL, or DATA_DIR to the folder of a running service`);
    const early = await failedStart({ DATA_DIR: dataDir, DATACAPTURE_ENCRYPTION_KEY: key });
    expect(early.code, early.output).to.equal(1);
    expect(early.output).to.contain('"npm run rotate:datacapture-key" first (docs/OPERATIONS.md, "Change a secret")');

    const second = await startService({ DATA_DIR: dataDir });
    try {
      const { code, output } = await rotate();
      expect(code, output).to.equal(0);
      expect(output).to.contain('Studies with event subscriptions: 1.');
      // Saved by a process that still has the former key.
      const { http } = await login(second.run.api, second.run.admin_email, second.run.admin_password ?? '');
      const study = await newStudy(http);
      const subscription = { url: 'http://127.0.0.1:9/', events: ['ENROLLMENT_DATE_SET'] };
      await http.expect(201, 'POST', `/api/studies/${study.id as string}/event-subscriptions`, subscription);
    } finally {
      await second.stop();
    }
    const third = await startService({ DATA_DIR: dataDir, DATACAPTURE_ENCRYPTION_KEY: key });
    try {
      expect(third.output()).to.contain(
        'warning: DATACAPTURE_ENCRYPTION_KEY does not decrypt all that is stored: 1 event subscription was encrypted',
      );
      const { code, output } = await rotate();
      expect(code, output).to.equal(0);
    } finally {
      await third.stop();
    }
    const fourth = await startService({ DATA_DIR: dataDir, DATACAPTURE_ENCRYPTION_KEY: key });
    await fourth.stop();
    expect(fourth.output()).not.to.contain('DATACAPTURE_ENCRYPTION_KEY');
  });
});
