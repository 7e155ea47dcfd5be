import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { acquireRateSlot } from '../../activities/capture/client/rate-limit.js';
import { unique } from '../support/http.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

/** A capture system bans an address for ever that calls more than 600 times a minute, however many workers share it. */
describe('The pace of a sync', () => {
  let workers: Database[];
  before(async () => {
    const { database_url: url } = await service();
    workers = [1, 2, 3].map((n) => openDatabase({ url, poolMax: 5, name: `pace-${n}` }));
  });
  after(() => Promise.all(workers.map((worker) => worker.destroy())));

  const taken = async (paths: string[], { seconds, calls }: { seconds: number; calls: number }): Promise<number[]> => {
    const begun = performance.now(),
      at: number[] = [];
    await Promise.all(
      workers.flatMap((worker) =>
        paths.map(async (path) => {
          for (;;) {
            await acquireRateSlot(worker, path);
            const now = (performance.now() - begun) / 1_000;
            if (now > seconds && at.length >= calls) return;
            at.push(now);
          }
        }),
      ),
    );
    return at.sort((a, b) => a - b);
  };

  it('is one for all workers and all projects of one server: sixty calls after a pause, then four a second', async () => {
    const host = unique('capture').toLowerCase();
    const at = await taken([`https://${host}.example/redcap/api/`, `https://${host}.example/other/api/`], {
      seconds: 4,
      calls: 60,
    });
    // At four a second they would take fifteen.
    expect(at[59]).to.be.below(12);
    // In any minute 60 + 240: half of what would ban.
    for (const [n, second] of at.entries()) expect(n, `calls within ${second} s`).to.be.at.most(60 + second * 4 + 1);
  });

  it('is each server’s own', async () => {
    const host = unique('capture').toLowerCase();
    const [one, other] = [`https://${host}.example/api/`, `https://other-${host}.example/api/`];
    const now = async () =>
      Number((await workers[0]!.raw('select extract(epoch from clock_timestamp()) * 1000 as now')).rows[0].now);
    const before = await now();
    for (let n = 0; n < 60; n += 1) await acquireRateSlot(workers[0]!, one);
    for (let n = 0; n < 20; n += 1) await acquireRateSlot(workers[1]!, other);
    const { rows } = await workers[2]!.raw('select key, expire from rate_limits where key like ? order by key', [
      `%${host}%`,
    ]);
    expect(rows.map(({ key }: { key: string }) => key)).to.deep.equal([
      `capture:${host}.example`,
      `capture:other-${host}.example`,
    ]);
    // Sixty turns of 250 ms are spoken for here, twenty there.
    expect(Number(rows[0].expire)).to.be.at.least(Math.floor(before) + 60 * 250);
    expect(Number(rows[1].expire)).to.be.at.most((await now()) + 20 * 250);
  });

  it('does not wait for what was written when the clock was another', async () => {
    const host = unique('capture').toLowerCase();
    await acquireRateSlot(workers[0]!, `https://${host}.example/api/`);
    const moved = await workers[0]!.raw(`update rate_limits set expire = expire + 86400000 where key like ?`, [
      `%${host}%`,
    ]);
    expect(moved.rowCount).to.equal(1);
    await acquireRateSlot(workers[1]!, `https://${host}.example/api/`);
    const { rows } = await workers[0]!.raw(
      `select expire - extract(epoch from clock_timestamp()) * 1000 as ahead from rate_limits where key like ?`,
      [`%${host}%`],
    );
    expect(Number(rows[0].ahead)).to.be.below(60_000);
  });
});
