import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { PartPlan } from '../runtime/part.js';
import { postgresUrl } from '../runtime/postgres/postgres.js';
import { askTemporal } from '../runtime/temporal/temporal-setup.js';
import { DATABASES, serverConfig } from './config.js';
import type { ServerPlace } from './config.js';
import type { ServerPrograms } from './programs.js';

const run = promisify(execFile);
const SCHEMAS = { default: 'postgresql/v12/temporal', visibility: 'postgresql/v12/visibility' } as const;
const TOOL_MS = 120_000;

/** @param server `dir`: the folder of its configuration, which contains the database's password */
export interface TemporalOnPostgres extends ServerPlace {
  programs: ServerPrograms;
  dir: string;
  log: string;
  release: () => Promise<void>;
}

/**
 * A Temporal server that stores everything in PostgreSQL, as in production. Before each start its schema is migrated.
 */
export function temporalOnPostgres(server: TemporalOnPostgres): PartPlan {
  const { host, ports, dir } = server;
  return {
    name: 'temporal',
    log: server.log,
    before: async () => {
      await prepareStore(server);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileSync(join(dir, 'production.yaml'), serverConfig(server), { mode: 0o600 });
      await server.release();
    },
    spawn: (output) =>
      spawn(
        server.programs.server,
        ['--root', '/', '--config', dir, '--env', 'production', '--allow-no-auth', 'start'],
        { detached: true, stdio: ['ignore', output, output], env: { PATH: process.env.PATH } },
      ),
    ready: (_child: ChildProcess, cancelled) => answers(`${host}:${ports.frontend}`, cancelled),
    readyWithinSeconds: 90,
    stopSignal: 'SIGTERM',
    graceSeconds: 15,
  };
}

/** Creates both databases with their schema; idempotent. */
async function prepareStore({ store, programs }: TemporalOnPostgres): Promise<void> {
  for (const [name, database] of Object.entries(DATABASES) as [keyof typeof DATABASES, string][]) {
    const isNew = await makeDatabase(store, database);
    const tool = (...args: string[]) =>
      run(programs.sql, args, {
        timeout: TOOL_MS,
        env: {
          PATH: process.env.PATH,
          SQL_PLUGIN: 'postgres12',
          SQL_HOST: store.host,
          SQL_PORT: String(store.port),
          SQL_USER: store.user,
          SQL_PASSWORD: store.password,
          SQL_DATABASE: database,
        },
      });
    if (isNew) await tool('setup-schema', '--version', '0.0');
    await tool('update-schema', '--schema-name', SCHEMAS[name]);
  }
}

/** @returns whether its schema must be created: an interrupted creation counts as new */
async function makeDatabase({ host, port, password }: ServerPlace['store'], database: string): Promise<boolean> {
  const on = async <T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: postgresUrl(host, port, password, name) });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  await on('postgres', async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [database]);
    if (!rowCount) await client.query(`create database ${database}`);
  });
  return on(
    database,
    async (client) =>
      (await client.query<{ there: boolean }>(`select to_regclass('schema_version') is not null as there`)).rows[0]!
        .there === false,
  );
}

async function answers(address: string, cancelled: AbortSignal): Promise<void> {
  for (;;) {
    cancelled.throwIfAborted();
    try {
      return await askTemporal({ address });
    } catch {
      // Not there yet; if it never comes, the part reports it with the server's last output.
      await sleep(200, undefined, { signal: cancelled });
    }
  }
}
