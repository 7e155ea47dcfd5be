import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { postgresPart } from '../../scripts/runtime/postgres/postgres.js';
import { temporaryDataDir, service } from '../support/service.js';

describe('A start on a machine that is too busy for PostgreSQL to answer at once', function busy() {
  this.timeout(120_000);

  it('goes on once it answers', async () => {
    const { hostname, port, password } = new URL((await service()).database_url);
    const open = new Set<Socket>();
    let asked = 0;
    // It takes the first connection and says nothing; the next ones reach the server.
    const machine = createServer((near) => {
      asked += 1;
      open.add(near);
      near.on('error', () => near.destroy());
      if (asked === 1) return;
      const far = connect(Number(port), hostname);
      open.add(far);
      far.on('error', () => far.destroy());
      near.pipe(far).pipe(near);
    });
    machine.listen(0, '127.0.0.1');
    await once(machine, 'listening');
    try {
      const data = temporaryDataDir();
      const { ready, readyWithinSeconds } = postgresPart(
        { initdb: '', postgres: '', data, user: undefined },
        {
          host: '127.0.0.1',
          port: (machine.address() as AddressInfo).port,
          password: decodeURIComponent(password),
          log: '',
          archive: undefined,
          release: () => Promise.resolve(),
        },
      );
      await ready(undefined as never, new AbortController().signal);
      // As often as the machine is too busy for: the next one, as a rule.
      expect(asked).to.be.at.least(2);
      expect(readyWithinSeconds, 'a log is replayed for longer than a minute').to.be.greaterThan(600);
    } finally {
      for (const socket of open) socket.destroy();
      machine.close();
    }
  });
});
