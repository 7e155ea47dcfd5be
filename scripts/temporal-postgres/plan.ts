import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PartPlan } from '../runtime/part.js';
import { reservePorts } from '../runtime/ports.js';
import type { Reservation } from '../runtime/ports.js';
import { postgresPart, postgresUrl, prepareCluster, SUPERUSER } from '../runtime/postgres/postgres.js';
import { placePostgres } from '../runtime/postgres/postgres-place.js';
import { SERVER_PORTS } from './config.js';
import type { ServerPort } from './config.js';
import type { ServerPrograms } from './programs.js';
import { temporalOnPostgres } from './server.js';

/** `dir`: data, configuration and logs; existing ones are continued. `port`: of the frontend */
export interface TemporalPlace {
  programs: ServerPrograms;
  dir: string;
  host: string;
  port: number | 'auto';
  password: string;
  say: (line: string) => void;
  cancelled: AbortSignal;
}

/** `port`: of the frontend. `release`: releases every port that no part has taken yet. */
export interface TemporalPlans extends Reservation {
  server: PartPlan;
  /** It is started first, and stopped last. */
  store: PartPlan;
  storeUrl: string;
}

/**
 * Plans Temporal as in production: a server, and its own PostgreSQL.
 * @throws StartError if a port is taken, or the database cannot be created
 */
export async function planTemporal({
  programs,
  dir,
  host,
  port,
  password,
  say,
  cancelled,
}: TemporalPlace): Promise<TemporalPlans> {
  mkdirSync(dir, { recursive: true });
  const reserved = await reservePorts<ServerPort | 'store'>(host, {
    ...each(() => 'auto' as const),
    frontend: port,
    store: 'auto',
  });
  const release = async () => {
    await Promise.all(Object.values(reserved).map((reservation) => reservation.release()));
  };
  try {
    const place = await placePostgres(dir, say);
    await prepareCluster(place, password, cancelled);
    const at = { host, port: reserved.store.port, password };
    return {
      port: reserved.frontend.port,
      release,
      store: postgresPart(place, {
        ...at,
        log: join(dir, 'postgres.log'),
        archive: undefined,
        release: reserved.store.release,
      }),
      storeUrl: postgresUrl(host, at.port, password, 'postgres'),
      server: temporalOnPostgres({
        programs,
        host,
        ports: each((name) => reserved[name].port),
        store: { ...at, user: SUPERUSER },
        dir: join(dir, 'config'),
        log: join(dir, 'temporal.log'),
        release,
      }),
    };
  } catch (fault) {
    await release();
    throw fault;
  }
}

const each = <T>(of: (name: ServerPort) => T) =>
  Object.fromEntries(SERVER_PORTS.map((name) => [name, of(name)])) as Record<ServerPort, T>;
