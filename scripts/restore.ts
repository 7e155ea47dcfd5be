/**
 * Creates a new DATA_DIR from a back-up, in the state of a given moment: `npm run restore -- --into NEW_DATA_DIR --keys
 * OLD_DATA_DIR/keys [--to 2026-01-31T12:00:00Z] [--checkpoints FOLDER]`. Temporal begins empty; the worker starts
 * missing workflows from the database.
 */
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CheckpointFolder } from '../db/audit/audit-folder.js';
import { openDatabase } from '../db/client/knex.js';
import { readInScope } from '../db/client/transaction.js';
import { readSettings } from '../settings.js';
import { copyHashed } from './backup/base-copy.js';
import { backupFolder, baseBackups } from './backup/folder.js';
import type { BaseBackup } from './backup/folder.js';
import { forShell } from './backup/for-shell.js';
import { recover } from './backup/recover.js';
import { dataDirAt, openDataDir } from './runtime/data-dir.js';
import { readIfThere } from './runtime/files.js';
import { placePostgres } from './runtime/postgres/postgres-place.js';
import type { PostgresPlace } from './runtime/postgres/postgres-place.js';
import { reservePorts } from './runtime/ports.js';
import { asProgram } from './runtime/program.js';
import { realTarget } from './runtime/postgres/postgres.js';

const usage =
  'Usage: npm run restore -- --into NEW_DATA_DIR --keys FOLDER [--to 2026-01-31T12:00:00Z] [--checkpoints ' +
  'FOLDER]   (BACKUP_DIR names the back-ups)';
const say = (line: string) => console.log(line);

await asProgram(main, usage);

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { into: text, keys: text, to: text, checkpoints: text } });
  if (values.into === undefined || values.keys === undefined) throw new Error(usage);
  const settings = readSettings(process.env, 'tool');
  if (settings.BACKUP_DIR === undefined) throw new Error('BACKUP_DIR is not set: it names the folder of the back-ups.');
  const to = momentOf(values.to);
  if (values.checkpoints !== undefined && !existsSync(values.checkpoints))
    throw new Error(
      `There is no folder ${resolve(values.checkpoints)}: --checkpoints is the AUDIT_CHECKPOINT_DIR of the former ` +
        'service. Leave it out if none was signed yet.',
    );
  const backup = chosen(baseBackups(settings.BACKUP_DIR), to, settings.BACKUP_DIR);
  const password = readIfThere(join(values.keys, 'POSTGRES_PASSWORD'))?.trim();
  if (!password)
    throw new Error(
      `${resolve(values.keys)} holds no POSTGRES_PASSWORD: --keys is the folder "keys" of the former DATA_DIR.`,
    );
  requireUnused(resolve(values.into));

  const dir = openDataDir(values.into);
  for (const name of readdirSync(values.keys)) cpSync(join(values.keys, name), join(dir.keys, name));
  const place = await placePostgres(dir.path, say);
  const { log } = backupFolder(settings.BACKUP_DIR);
  const found = await restored(place, { backup, log, to, password }, (url) =>
    tellOf(url, resolve(values.into!), values.checkpoints),
  ).catch((fault: unknown) => {
    for (const begun of begunIn(place.data)) rmSync(begun, { recursive: true, force: true });
    say(`Nothing of the database is left in ${dir.path}: a restore into it can begin again.`);
    throw fault;
  });
  say(
    `Restored into ${dir.path}: ${found.participants} participants, last change ${found.last ?? 'none'}, ` +
      `${found.records} audit records.`,
  );
  if (found.beyond > 0)
    say(
      `${found.beyond} checkpoints were signed after that moment: they are kept in ${found.beyondPath}, as a proof ` +
        'of what is lost.',
    );
  say(
    `Start it with DATA_DIR=${forShell(dir.path)} npm start and a BACKUP_DIR of its own, then: ` +
      `DATA_DIR=${forShell(dir.path)} npm run audit:verify`,
  );
}

function momentOf(given: string | undefined): Date | undefined {
  if (given === undefined) return undefined;
  const at = new Date(given);
  if (Number.isNaN(at.getTime()) || !/(Z|[+-]\d\d:?\d\d)$/.test(given))
    throw new Error(`--to must be an instant with its zone, e.g. 2026-01-31T12:00:00Z, not ${given}.`);
  return at;
}

/** The last one completed before the moment: the log from there is the shortest. */
function chosen(backups: BaseBackup[], to: Date | undefined, folder: string): BaseBackup {
  const fit = backups.findLast(({ manifest }) => to === undefined || new Date(manifest.consistent_at) <= to);
  if (fit) return fit;
  const first = backups[0]?.manifest.consistent_at;
  throw new Error(
    first === undefined
      ? `${folder} holds no complete back-up: "npm run backup" makes one.`
      : `The first back-up in ${folder} is of ${first}: a restore can stop there or later.`,
  );
}

/** Where a restore builds the database, and where that lies in the end. */
function begunIn(postgres: string): [draft: string, data: string] {
  // The name may be a link to a folder that the database's user can access.
  const data = realTarget(postgres);
  return [`${data}.restoring`, data];
}

/** @throws Error if the folder holds a database, or what is there of one whose restore was killed or still runs */
function requireUnused(into: string): void {
  const [draft, data] = begunIn(join(into, 'postgres'));
  const begun = existsSync(draft) ? draft : existsSync(join(data, 'recovery.signal')) ? data : undefined;
  if (begun !== undefined)
    throw new Error(
      `${begun} is of a restore that did not end: unless it still runs, remove that folder and begin again.`,
    );
  if (existsSync(data)) throw new Error(`${into} holds a database already: a restore needs a folder of its own.`);
}

/** Copies the base backup, replays the log up to the moment, and runs `tell` on the result. */
async function restored<T>(
  place: PostgresPlace,
  { backup, ...from }: { backup: BaseBackup; log: string; to: Date | undefined; password: string },
  tell: (url: string) => Promise<T>,
): Promise<T> {
  await copyCluster(backup, place);
  say(
    `Copied ${backup.name} (${backup.manifest.files.length} files, each as its hash says); now the log, up to ` +
      `${from.to?.toISOString() ?? 'its end'}.`,
  );
  const {
    RESTORE: { port, release },
  } = await reservePorts('127.0.0.1', { RESTORE: 'auto' });
  await release();
  return recover(place, { ...from, port }, tell);
}

async function copyCluster({ path, manifest }: BaseBackup, place: PostgresPlace): Promise<void> {
  const from = join(path, 'postgres');
  const [draft, data] = begunIn(place.data);
  mkdirSync(draft, { mode: 0o700 });
  for (const folder of manifest.folders) mkdirSync(join(draft, folder), { recursive: true, mode: 0o700 });
  for (const { path: file, sha256 } of manifest.files) {
    if ((await copyHashed(from, draft, file))?.sha256 !== sha256)
      throw new Error(`${join(from, file)} is missing or not what the back-up wrote: take another one.`);
  }
  if (!(await copyHashed(from, draft, 'backup_label')))
    throw new Error(`${from} holds no backup_label: it is no complete back-up.`);
  if (place.user)
    for (const inside of ['', ...readdirSync(draft, { recursive: true, encoding: 'utf8' })])
      chownSync(join(draft, inside), place.user.uid, place.user.gid);
  renameSync(draft, data);
}

/** The content of the restored database, and the outside checkpoints that belong to it. */
async function tellOf(url: string, dataDir: string, checkpoints: string | undefined) {
  const database = openDatabase({ url, name: 'restore', asOwner: true, poolMax: 1 });
  try {
    return await readInScope(database, '*', async (tx) => {
      const {
        rows: [row],
      } = await tx.raw(
        `select (select count(*)::int from participants) as participants,
          (select count(*)::int from audit_log) as records,
           (select to_char(max(created_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') from audit_log) as last`,
      );
      const heads = new Map(
        ((await tx('audit_chains').select('chain', 'seq')) as { chain: string; seq: string }[]).map(
          ({ chain, seq }) => [chain, Number(seq)],
        ),
      );
      const kept =
        checkpoints === undefined
          ? { beyond: 0, beyondPath: '' }
          : await divideCheckpoints(checkpoints, dataDir, {
              heads,
              signatures: new Set((await tx('audit_checkpoints').pluck('signature')) as string[]),
            });
      return { ...(row as { participants: number; records: number; last: string | null }), ...kept };
    });
  } finally {
    await database.destroy();
  }
}

/**
 * Keeps the checkpoints that the database has; those that were signed after its state are moved aside, also where all
 * of their records are there: beside a database without them they would say that somebody removed them from it.
 */
async function divideCheckpoints(
  from: string,
  dataDir: string,
  { heads, signatures }: { heads: ReadonlyMap<string, number>; signatures: ReadonlySet<string> },
): Promise<{ beyond: number; beyondPath: string }> {
  const { path } = dataDirAt(dataDir);
  const own = new CheckpointFolder(join(path, 'audit-checkpoints')),
    later = new CheckpointFolder(join(path, 'audit-checkpoints-later'));
  let beyond = 0;
  if (existsSync(join(from, 'keys'))) cpSync(join(from, 'keys'), join(own.path, 'keys'), { recursive: true });
  for (const [chain, all] of await new CheckpointFolder(resolve(from)).readAll()) {
    const rows = heads.get(chain) ?? 0;
    // One that is missing before another which is there was removed: the verification finds it.
    const last = all.findLastIndex((one) => one.rows <= rows && signatures.has(one.signature));
    const of = all.slice(0, last + 1);
    const after = all.slice(of.length);
    await own.keep(chain, of);
    if (after.length > 0) mkdirSync(later.path, { recursive: true, mode: 0o700 });
    await later.keep(chain, after);
    beyond += after.length;
  }
  return { beyond, beyondPath: later.path };
}
