import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDataDir } from '../../scripts/runtime/data-dir.js';
import { keep, keepAdminPassword, secretsFor } from '../../scripts/runtime/keys.js';
import { Part } from '../../scripts/runtime/part.js';
import { reservePorts } from '../../scripts/runtime/ports.js';
import { placePostgres } from '../../scripts/runtime/postgres/postgres-place.js';
import { postgresPart, postgresUrl, prepareCluster } from '../../scripts/runtime/postgres/postgres.js';
import { prepareDatabase } from '../../scripts/runtime/postgres/prepare-database.js';
import { readSettings } from '../../settings.js';
import { testEnvironment } from './environment.js';

const HOST = '127.0.0.1';
/** With one of these set, a service's first start is another one than the template's. */
const FIRST_START_SETTINGS = [
  'ADMIN_EMAIL',
  'ADMIN_PASSWORD',
  'DATABASE_APP_PASSWORD',
  'DATABASE_URL',
  'DATACAPTURE_ENCRYPTION_KEY',
  'NODE_ENV',
];

/**
 * Prepares a data folder as a first start leaves it: secrets, a database with the latest schema, the first admin.
 * Services that are started on a copy of it need neither initdb nor the migrations.
 * @param folder a new folder, which is named to `copyTemplate` by TEST_TEMPLATE
 */
export async function prepareTemplate(folder: string): Promise<void> {
  const dir = openDataDir(folder);
  const settings = readSettings(testEnvironment({ DATA_DIR: dir.path, HOST }));
  const secrets = secretsFor(settings, dir.keys);
  const password = keep(dir.keys, 'POSTGRES_PASSWORD');
  await prepareCluster(await placePostgres(dir.path, ignoreProgress), password, new AbortController().signal);
  await withDatabaseOf(folder, async (url) => {
    await prepareDatabase(url, {
      appPassword: secrets.DATABASE_APP_PASSWORD,
      encryptionKey: secrets.DATACAPTURE_ENCRYPTION_KEY,
      admin: { email: settings.ADMIN_EMAIL, password: secrets.ADMIN_PASSWORD },
    });
    keepAdminPassword(dir.keys, secrets.ADMIN_PASSWORD);
  });
}

/**
 * Runs the PostgreSQL of a data folder alone, for as long as `work` takes: what is stored is made or changed without a
 * service.
 * @param folder with a database, and without a service that runs on it
 * @param work gets the URL of the database's owner
 */
export async function withDatabaseOf(folder: string, work: (url: string) => Promise<void>): Promise<void> {
  const dir = openDataDir(folder);
  const password = keep(dir.keys, 'POSTGRES_PASSWORD');
  const place = await placePostgres(dir.path, ignoreProgress);
  const { postgres } = await reservePorts(HOST, { postgres: 'auto' as const });
  const log = join(dir.logs, 'postgres.log');
  const release = () => postgres.release();
  const server = new Part(
    postgresPart(place, { host: HOST, port: postgres.port, password, log, archive: undefined, release }),
    { changed: ignoreProgress, say: ignoreProgress },
  );
  await server.start();
  try {
    await work(postgresUrl(HOST, postgres.port, password));
  } finally {
    await server.stop();
  }
}

/**
 * Copies the template to where a service is to run for the first time.
 * @param dataDir must not exist yet
 * @param overrides the service's settings; with some of them it must make its database itself
 */
export function copyTemplate(dataDir: string, overrides: Record<string, string> = {}): void {
  const template = process.env.TEST_TEMPLATE;
  if (!template || FIRST_START_SETTINGS.some((name) => name in overrides)) return;
  // The database lies elsewhere where its user can't pass through the folder: two services must not share it.
  const database = join(template, 'postgres');
  if (!existsSync(database) || lstatSync(database).isSymbolicLink()) return;
  mkdirSync(dataDir, { mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  // With its owners and modes: PostgreSQL refuses a folder that others may read.
  execFileSync('cp', ['-a', join(template, 'keys'), database, dataDir]);
}

function ignoreProgress(): void {
  // A start that fails throws; nobody watches one that succeeds.
}
