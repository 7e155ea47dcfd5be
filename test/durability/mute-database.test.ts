import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { attemptFailure } from '../../activities/capture/client/failure.js';
import { toProblem } from '../../api/http/to-problem.js';
import { openDatabase } from '../../db/client/knex.js';
import { Link } from '../support/link.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

describe('A database that takes a connection and then says nothing', function () {
  this.timeout(60_000);

  it('is one that is away: 503 to a client, and however often an activity meets it, its work is not given up', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
    }).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const database = openDatabase({
      url: `postgres://nobody:none@127.0.0.1:${(mute.address() as AddressInfo).port}/none`,
      name: 'test',
      asOwner: true,
    });
    try {
      // The driver gives up on the connection before the pool gives up on the driver.
      const thrown: unknown = await database.raw('select 1').then(
        () => undefined,
        (fault: unknown) => fault,
      );
      expect(thrown).to.be.an('error');
      expect(toProblem(thrown).code).to.equal('DATABASE_UNAVAILABLE');
      const failure = attemptFailure(thrown, { number: 10, ageMs: 3_600_000 }, { captureMs: 900_000, attempts: 10 });
      expect([failure.type, failure.nonRetryable]).to.deep.equal(['DATABASE_UNAVAILABLE', false]);
    } finally {
      await database.destroy();
      for (const socket of sockets) socket.destroy();
      mute.close();
    }
  });
});

describe('A database that says nothing more on connections that are open', function () {
  this.timeout(120_000);
  let database: Database, link: Link;
  before(async () => {
    const url = new URL((await service()).database_url);
    const { port } = url;
    link = await Link.open(() => [Number(port)]);
    [url.hostname, url.port] = ['127.0.0.1', String(link.port)];
    database = openDatabase({ url: url.toString(), name: 'mute', asOwner: true, poolMax: 3, muteMs: 1_000 });
  });
  after(async () => {
    await database.destroy();
    await link.close();
  });
  const backend = async (): Promise<number> =>
    ((await database.raw('select pg_backend_pid() as pid')) as { rows: [{ pid: number }] }).rows[0].pid;

  it('is away for anyone who waits, and for anyone who takes a connection that nobody used; a statement that only takes long comes to its end', async () => {
    const answer = (await database.raw(`select pg_sleep(6), 'done' as said`)) as { rows: [{ said: string }] };
    expect(answer.rows[0].said).to.equal('done');

    // Two connections, one of which stands idle.
    const before = await Promise.all([backend(), backend()]);
    link.hold();
    const began = performance.now();
    const thrown: unknown = await database.raw('select 1').then(
      () => undefined,
      (fault: unknown) => fault,
    );
    expect(thrown).to.be.an('error');
    expect(toProblem(thrown).code).to.equal('DATABASE_UNAVAILABLE');
    // A second and a look, five for a new connection; the rest is a busy machine's.
    expect((performance.now() - began) / 1000).to.be.within(5, 15);
    link.heal();
    const after = await Promise.all([backend(), backend()]);
    expect(before.filter((pid) => after.includes(pid))).to.deep.equal([]);
  });

  it('is there again when what was silent speaks: nobody is told anything', async () => {
    const pid = await backend();
    const waits = backend();
    link.hold();
    setTimeout(() => {
      link.heal();
    }, 3_000);
    expect(await waits).to.equal(pid);
  });
});
