import { expect } from 'chai';
import { failedStart, startService } from '../support/service.js';

describe('A start on a data folder that is there', function suite() {
  this.timeout(120_000);

  it('says that ADMIN_EMAIL names no account, and in a sentence where no metrics can be served', async () => {
    const first = await startService();
    const { dataDir } = first;
    await first.stop();
    const second = await startService({ DATA_DIR: dataDir, ADMIN_EMAIL: 'nobody@example.org' });
    await second.stop();
    expect(second.run.admin_password).to.equal(null);
    expect(second.output())
      .to.contain('ADMIN_EMAIL counts only when the first admin is made: there is no account of nobody@example.org')
      .and.not.to.contain('has another one');
    const { code, output } = await failedStart({
      DATA_DIR: dataDir,
      WORKER_METRICS_PORT: 'auto',
      WORKER_METRICS_HOST: '203.0.113.7',
    });
    expect(code, output).to.equal(1);
    expect(output)
      .to.contain('set WORKER_METRICS_HOST to an address of this machine')
      .and.not.to.match(/^\s+at |errno|cause/m);
  });
});
