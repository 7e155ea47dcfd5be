import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { attemptFailure } from '../../activities/capture/failure.js';
import { problemFrom } from '../../api/faults.js';
import { openDatabase } from '../../db/knex.js';

describe('A database that takes a connection and then says nothing', function () {
  this.timeout(30_000);

  it('is one that is away: 503 to a client, and however often an activity meets it, its work is not given up', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => { sockets.add(socket.on('error', () => undefined)); }).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const database = openDatabase({ url: `postgres://nobody:none@127.0.0.1:${(mute.address() as AddressInfo).port}/none`, name: 'test', asOwner: true });
    try {
      // The driver gives up on the connection before the pool gives up on the driver.
      const thrown: unknown = await database.raw('select 1').then(() => undefined, (fault: unknown) => fault);
      expect(thrown).to.be.an('error');
      expect(problemFrom(thrown).code).to.equal('DATABASE_UNAVAILABLE');
      const failure = attemptFailure(thrown, { number: 10, ageMs: 3_600_000 }, { captureMs: 900_000, attempts: 10 });
      expect([failure.type, failure.nonRetryable]).to.deep.equal(['DATABASE_UNAVAILABLE', false]);
    } finally {
      await database.destroy();
      for (const socket of sockets) socket.destroy();
      mute.close();
    }
  });
});
