/** One test of each outcome, for the runner's own test. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { until } from '../../support/until.js';

describe('mixed', () => {
  before(() => sleep(100));

  it('passes', () => {
    expect(1).to.equal(1);
  });
  it('fails', () => {
    expect({ answer: 41 }).to.deep.equal({ answer: 42 });
  });
  it.skip('is skipped', () => {
    expect(1).to.equal(2);
  });
  it('waits', async () => {
    const began = performance.now();
    expect(await until(() => performance.now() - began > 150)).to.equal(true);
  });
  it('fails by a promise that nobody handles', async () => {
    void Promise.reject(new Error('nobody handles this'));
    await new Promise(() => undefined);
    expect.fail('the rejection ends the test');
  });
});
