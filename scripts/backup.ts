/**
 * Makes a base backup of the running service's embedded PostgreSQL in BACKUP_DIR: `npm run backup [-- --keep 7]`. The
 * service continues meanwhile. With the write-ahead log that the server archives there, `npm run restore` restores any
 * later moment.
 */
import { mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { readSettings } from '../settings.js';
import { clusterContent, copyHashed } from './backup/base-copy.js';
import type { CopiedFile } from './backup/base-copy.js';
import { DRAFT, backupFolder, removeOlder, removeUnfinished } from './backup/folder.js';
import type { Manifest } from './backup/folder.js';
import { usableFolder } from './runtime/data-dir.js';
import { requireDatabase, runningOn } from './runtime/postgres/database-url.js';
import { asProgram } from './runtime/program.js';

const usage = 'Usage: npm run backup [-- --keep N]   (DATA_DIR names the running service, BACKUP_DIR the folder)';

await asProgram(main, usage);

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { keep: { type: 'string' } } });
  const keep = values.keep === undefined ? undefined : Number(values.keep);
  if (keep !== undefined && !(Number.isInteger(keep) && keep > 0))
    throw new Error(`--keep must be a whole number above 0, not ${values.keep}.\n${usage}`);
  const settings = readSettings(process.env, 'tool');
  if (settings.BACKUP_DIR === undefined)
    throw new Error('BACKUP_DIR is not set: it names the folder of the back-ups, for "npm start" as well.');
  const run = runningOn(settings.DATA_DIR);
  if (!run)
    throw new Error(`No service runs on ${settings.DATA_DIR} (run.json is not there): start it, or set DATA_DIR.`);
  if (run.pids.postgres === undefined)
    throw new Error(
      'This service works on a PostgreSQL of your own: back it up by its own means (docs/OPERATIONS.md, ' +
        '"Servers of your own").',
    );
  await requireDatabase(run.database_url, { DATABASE_URL: undefined, DATA_DIR: settings.DATA_DIR });

  usableFolder('BACKUP_DIR', resolve(settings.BACKUP_DIR));
  const name = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const target = join(backupFolder(settings.BACKUP_DIR).base, name);
  const draft = `${target}${DRAFT}`;
  const client = new pg.Client({ connectionString: run.database_url, application_name: 'backup' });
  await client.connect();
  try {
    await requireAlone(client);
    const left = removeUnfinished(settings.BACKUP_DIR);
    if (left.length > 0) console.log(`Removed what back-ups that were broken off had left: ${left.join(', ')}.`);
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    const manifest = await take(client, join(run.data_dir, 'postgres'), draft);
    writeFileSync(join(draft, 'manifest.json'), `${JSON.stringify(manifest)}\n`, { mode: 0o600 });
    renameSync(draft, target);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    console.log(
      `${target}: ${manifest.files.length} files, ${(bytes / 1e6).toFixed(1)} MB; a restore may stop at ` +
        `${manifest.consistent_at} or later.`,
    );
  } finally {
    rmSync(draft, { recursive: true, force: true });
    await client.end();
  }
  if (keep !== undefined) {
    const removed = removeOlder(settings.BACKUP_DIR, keep);
    if (removed.backups.length > 0)
      console.log(`Removed: ${removed.backups.join(', ')} and ${removed.logFiles} files of the log.`);
  }
}

/** For as long as this connection lasts. @throws Error if another back-up of this database is under way */
async function requireAlone(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`select pg_try_advisory_lock(hashtext('npm run backup')) as mine`);
  if (!(rows[0] as { mine: boolean }).mine)
    throw new Error('Another "npm run backup" of this service is under way: begin when it has ended.');
}

/** PostgreSQL's own procedure: start, copy, stop; the label returned by stop tells a restore where to begin. */
async function take(client: pg.Client, data: string, draft: string): Promise<Manifest> {
  const one = async <T>(sql: string) => (await client.query(sql)).rows[0] as T;
  const { mode } = await one<{ mode: string }>(`select current_setting('archive_mode') as mode`);
  if (mode !== 'on') throw new Error('The server keeps no log for restores: it was started without BACKUP_DIR.');
  const started_at = new Date().toISOString();
  const { first_log } = await one<{ first_log: string }>(
    `select pg_walfile_name(pg_backup_start('npm run backup', fast => true)) as first_log`,
  );
  const { folders, files } = await clusterContent(realpathSync(data));
  for (const folder of folders) mkdirSync(join(draft, 'postgres', folder), { recursive: true, mode: 0o700 });
  const copied: CopiedFile[] = [];
  for (const path of files) {
    const file = await copyHashed(realpathSync(data), join(draft, 'postgres'), path);
    if (file) copied.push(file);
  }
  const labelfile = await stop(client);
  writeFileSync(join(draft, 'postgres', 'backup_label'), labelfile, { mode: 0o600 });
  const { at, version, revision } = await one<{ at: Date; version: string; revision: string }>(
    `select clock_timestamp() as at, current_setting('server_version') as version,
      (select max(name) from knex_migrations) as revision`,
  );
  return {
    started_at,
    consistent_at: at.toISOString(),
    postgres_version: version,
    schema_revision: revision,
    first_log,
    files: copied,
    folders,
  };
}

/** Ends the copy; resolves when the required log is in BACKUP_DIR. @throws Error if the server cannot write there */
async function stop(client: pg.Client): Promise<string> {
  await client.query(`set statement_timeout = '5min'`);
  try {
    const { rows } = await client.query('select labelfile from pg_backup_stop(wait_for_archive => true)');
    await client.query('reset statement_timeout');
    return (rows[0] as { labelfile: string }).labelfile;
  } catch (fault) {
    if ((fault as { code?: string }).code !== '57014') throw fault;
    throw new Error(
      'PostgreSQL has not brought its log to BACKUP_DIR within five minutes: DATA_DIR/logs/postgres.log says why.',
      { cause: fault },
    );
  }
}
