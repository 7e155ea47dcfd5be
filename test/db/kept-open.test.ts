import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { withKeepAlive } from '../../db/client/connection/keep-alive.js';
import { openDatabase } from '../../db/client/knex.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

describe('a transaction that waits for what asks the database nothing', function () {
  this.timeout(120_000);
  let database: Database, owner: Database;
  before(async () => {
    const { database_url } = await service();
    database = openDatabase({ url: database_url, name: 'kept-open', poolMax: 2 });
    owner = openDatabase({ url: database_url, name: 'kept-open-owner', asOwner: true, poolMax: 1 });
  });
  after(() => Promise.all([database.destroy(), owner.destroy()]));

  /**
   * The database ends it after fifteen seconds of silence; the work takes sixteen. It is asked after ten: a process that
   * is held up for some seconds more does so in time.
   */
  const waiting = (kept: boolean) =>
    withStudyScope(database, '*', async ({ tx }) => {
      await tx.raw(`set local idle_in_transaction_session_timeout = '15s'`);
      const work = () => sleep(16_000, 'done');
      const answer = kept ? await withKeepAlive(tx, work) : await work();
      await tx.raw('select 1');
      return answer;
    });

  it('is there still when the work is done; without that the database has ended it', async () => {
    const [kept, left] = await Promise.allSettled([waiting(true), waiting(false)]);
    expect(kept).to.deep.equal({ status: 'fulfilled', value: 'done' });
    expect(left.status).to.equal('rejected');
  });

  it('tells what the work throws, and does not wait for it when the connection is lost meanwhile', async () => {
    const refused = await withStudyScope(database, '*', ({ tx }) =>
      withKeepAlive(tx, () => Promise.reject(new Error('unreadable'))),
    ).catch((fault: Error) => fault.message);
    expect(refused).to.equal('unreadable');
    const ended = withStudyScope(database, '*', ({ tx }) =>
      withKeepAlive(tx, async () => {
        const {
          rows: [{ pid }],
        } = (await tx.raw('select pg_backend_pid() as pid')) as { rows: [{ pid: number }] };
        await owner.raw('select pg_terminate_backend(?)', [pid]);
        return sleep(30_000, 'never', { ref: false });
      }),
    ).then(
      () => 'done',
      (fault: { code?: string; message: string }) => fault.code ?? fault.message,
    );
    expect(await ended).to.match(/57P01|ECONN|terminat|connection error/i);
  });
});
