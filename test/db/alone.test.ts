import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { withAdvisoryLock } from '../../db/client/advisory-lock.js';
import { openDatabase } from '../../db/client/knex.js';
import { unique } from '../support/http.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

describe('work that one process at a time is at', function () {
  this.timeout(120_000);
  let one: Database, another: Database;
  before(async () => {
    const { database_url: url } = await service();
    one = openDatabase({ url, name: 'alone-one', poolMax: 1 });
    another = openDatabase({ url, name: 'alone-another', poolMax: 1 });
  });
  after(() => Promise.all([one.destroy(), another.destroy()]));

  it('is passed by meanwhile, and is free again afterwards, also where it failed', async () => {
    const name = unique('work');
    let meanwhile: boolean | undefined,
      done = 0;
    const add = async () => {
      done += 1;
    };
    expect(
      await withAdvisoryLock(one, name, async () => {
        meanwhile = await withAdvisoryLock(another, name, add);
      }),
    ).to.equal(true);
    expect([meanwhile, done]).to.deep.equal([false, 0]);
    expect(
      await withAdvisoryLock(one, name, () => Promise.reject(new Error('no answer'))).catch(
        (fault: Error) => fault.message,
      ),
    ).to.equal('no answer');
    expect([await withAdvisoryLock(another, name, add), done]).to.deep.equal([true, 1]);
  });

  it('may wait for others for longer than a transaction may idle', async () => {
    // It asks after ten seconds: a process that is held up for some more does so in time.
    await one.raw(`set idle_in_transaction_session_timeout = '15s'`);
    expect(await withAdvisoryLock(one, unique('work'), () => sleep(16_000))).to.equal(true);
  });
});
