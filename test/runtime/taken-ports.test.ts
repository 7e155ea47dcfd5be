import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { readIfThere } from '../../scripts/runtime/files.js';
import { freePort } from '../support/ports.js';
import { startService, temporaryDataDir, until } from '../support/service.js';
import type { Service } from '../support/service.js';

/** A program can be too slow to take a port of a start: at so many of them it is not. */
const STARTS = 8;

/** Columns of /proc/net/tcp, and the state of a listening socket there. */
const LOCAL = 1,
  STATE = 3,
  INODE = 9,
  LISTENS = '0A';

/** The listening ports of the machine, with their sockets. */
const listening = (): { port: number; inode: string }[] =>
  readFileSync('/proc/net/tcp', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[STATE] === LISTENS)
    .map((fields) => ({ port: parseInt(fields[LOCAL]!.split(':')[1]!, 16), inode: fields[INODE]! }));

/** Those of a process. */
function listeningOf(pid: number): number[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        // It was closed meanwhile.
        return undefined;
      }
    }),
  );
  return listening()
    .filter(({ inode }) => own.has(inode))
    .map(({ port }) => port);
}

/** Listens on a port; undefined: it is taken. */
async function taken(port: number): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen({ host: '127.0.0.1', port, exclusive: true });
    await once(server, 'listening');
    return server;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw fault;
  }
}

const supervisorOf = (dataDir: string): number | undefined => {
  const text = readIfThere(join(dataDir, 'supervisor.json'));
  return text === undefined || text === ''
    ? undefined
    : (JSON.parse(text) as { supervisor: { pid: number } }).supervisor.pid;
};

describe('A start beside a program that takes each port as soon as it is free', function suite() {
  this.timeout(240_000);
  let service: Service | undefined, thief: Server | undefined;
  before(function linux() {
    if (!existsSync('/proc/net/tcp')) this.skip();
  });
  afterEach(async () => {
    await service?.stop();
    thief?.close();
    [service, thief] = [undefined, undefined];
  });

  /** A start, and the port that was taken from it; undefined: each server was quicker. */
  async function started(): Promise<{ port: number | undefined; elsewhere: string }> {
    const [dataDir, elsewhere] = [temporaryDataDir(), temporaryDataDir()];
    for (const folder of [dataDir, elsewhere]) mkdirSync(folder, { mode: 0o711 });
    // A first start makes its database where a link leads.
    symlinkSync(join(elsewhere, 'postgres'), join(dataDir, 'postgres'));
    // The API does not choose again: Temporal's server and the worker were told its port before.
    const ofTheApi = await freePort();
    let over = false;
    const stealing = (async () => {
      const seen = new Set<number>();
      for (; !over; await pause(1)) {
        const pid = supervisorOf(dataDir);
        if (pid === undefined) continue;
        const held = new Set(listeningOf(pid));
        for (const port of held) if (port !== ofTheApi) seen.add(port);
        for (const port of seen) {
          if (held.has(port)) continue;
          thief = await taken(port);
          if (thief) return port;
        }
      }
      return undefined;
    })();
    try {
      service = await startService({ DATA_DIR: dataDir, PORT: String(ofTheApi) }, { fresh: true });
    } finally {
      over = true;
    }
    return { port: await stealing, elsewhere };
  }

  it('takes another port for its database, Temporal server or mail catcher', async () => {
    let { port, elsewhere } = await started();
    for (let starts = 1; port === undefined && starts < STARTS; starts += 1) {
      await service!.stop();
      ({ port, elsewhere } = await started());
    }
    expect(port, 'one was taken').to.be.a('number');
    const { api, database_url, temporal, temporal_ui, mail_ui, smtp } = service!.run;
    const places = [api, database_url, `tcp://${temporal}`, temporal_ui!, mail_ui!, smtp!];
    expect(places.map((place) => Number(new URL(place).port))).not.to.include(port);
    await until(async () => (await fetch(`${api}/api/health/detailed`)).status === 200, { what: 'all of it to work' });
    expect(existsSync(join(elsewhere, 'postgres', 'PG_VERSION'))).to.equal(true);
  });
});
