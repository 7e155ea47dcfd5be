import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Part } from '../runtime/part.js';
import type { PartEvents } from '../runtime/part.js';
import { reservePorts } from '../runtime/ports.js';
import { postgresPart, prepareCluster, SUPERUSER } from '../runtime/postgres.js';
import { placePostgres } from '../runtime/postgres-place.js';
import { SERVER_PORTS } from './config.js';
import type { ServerPort } from './config.js';
import type { ServerPrograms } from './programs.js';
import { temporalOnPostgres } from './server.js';

export interface Served {
  address: string;
  /** The server and the PostgreSQL behind it: each comes back when it dies. */
  server: Part;
  store: Part;
  stop: () => Promise<void>;
}

/**
 * Temporal as in production: a server, and a PostgreSQL of its own that nothing else is in.
 * @param at `dir`: data, configuration and logs; what was there before goes on. `port`: of the frontend
 * @throws StartError with the last words of what does not come up
 */
export async function serveTemporal(at: { programs: ServerPrograms; dir: string; host: string; port: number | 'auto'; password: string; events: PartEvents; cancelled: AbortSignal }): Promise<Served> {
  const { programs, dir, host, password, events } = at;
  mkdirSync(dir, { recursive: true });
  const reserved = await reservePorts<ServerPort | 'store'>(host, {
    ...(Object.fromEntries(SERVER_PORTS.map((name) => [name, 'auto'])) as Record<ServerPort, 'auto'>), frontend: at.port, store: 'auto',
  });
  const release = async () => { await Promise.all(SERVER_PORTS.map((name) => reserved[name].release())); };
  try {
    const place = await placePostgres(dir, events.say);
    await prepareCluster(place, password, at.cancelled);
    const store = new Part(postgresPart(place, { host, port: reserved.store.port, password, log: join(dir, 'postgres.log'), archive: undefined, release: reserved.store.release }), events);
    const server = new Part(temporalOnPostgres({
      programs, host, ports: Object.fromEntries(SERVER_PORTS.map((name) => [name, reserved[name].port])) as Record<ServerPort, number>,
      store: { host, port: reserved.store.port, user: SUPERUSER, password }, dir: join(dir, 'config'), log: join(dir, 'temporal.log'), release,
    }), events);
    const stop = async () => { await server.stop(); await store.stop(); };
    try {
      await store.start();
      await server.start();
    } catch (fault) {
      await stop();
      throw fault;
    }
    return { address: `${host}:${reserved.frontend.port}`, server, store, stop };
  } finally {
    await Promise.all(Object.values(reserved).map((reservation) => reservation.release()));
  }
}
