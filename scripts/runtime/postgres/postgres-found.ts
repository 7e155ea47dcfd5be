import { execFile } from 'node:child_process';
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { usableFolder } from '../data-dir.js';
import { readIfThere, writePrivate } from '../files.js';
import { takeLock, type Lock } from '../lock.js';
import { StartError } from '../start-error.js';
import { passable, type PostgresPlace } from './postgres-place.js';

const run = promisify(execFile);
/** A file among the secrets, so that a restore, which copies those first, has it too. */
const MADE = 'POSTGRES_MADE';

/** Notes that this data folder has a database: a later start must not make an empty one in its stead. */
export function noteMade(keysDir: string): void {
  const path = join(keysDir, MADE);
  if (readIfThere(path) === undefined) writePrivate(path, `${new Date().toISOString()}\n`);
}

/**
 * Whether there is a database, which this PostgreSQL can use.
 * @param keysDir where `noteMade` was told, if it was
 * @returns false: one is to be made
 * @throws StartError when what is there is no usable one, or one that was there is gone
 */
export async function hasCluster(place: PostgresPlace, keysDir?: string): Promise<boolean> {
  const { data } = place;
  const link = targetOf(data);
  if (link !== undefined && !exists(dirname(link)))
    throw new StartError(
      `${data} points to ${link}, which is not there: put that folder back, or restore a back-up into another ` +
        'DATA_DIR.',
    );
  const found = statSync(data, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) throw new StartError(`${data} is not a folder: move it away.`);
  if (!found || readdirSync(data).length === 0) {
    const made = keysDir === undefined ? undefined : readIfThere(join(keysDir, MADE))?.trim();
    if (made === undefined) return false;
    throw new StartError(
      `The database in ${data} is gone: there was one since ${made} or earlier. Put its folder back, or restore a ` +
        'back-up ("npm run restore"). To begin without data, start on an empty DATA_DIR.',
    );
  }
  await refuseOtherRelease(place);
  refuseForeign(place, found.uid);
  return true;
}

/** PostgreSQL only works on a folder of its own user, who must be able to reach it. */
function refuseForeign({ data, user }: PostgresPlace, owner: number): void {
  const folder = realpathSync(data);
  const needed = user?.uid ?? process.getuid?.();
  if (needed !== undefined && owner !== needed)
    throw new StartError(
      `The database in ${data} belongs to the user with the id ${owner}, and PostgreSQL runs as the one with the id ` +
        `${needed}: give it the folder (chown -R ${needed} ${folder}).`,
    );
  if (user && !passable(dirname(folder), user))
    throw new StartError(
      `The database in ${data} cannot be reached by the user with the id ${user.uid}, as whom PostgreSQL runs: let ` +
        `others pass through ${dirname(folder)} and the folders above it (chmod o+x).`,
    );
}

async function refuseOtherRelease({ data, postgres }: PostgresPlace): Promise<void> {
  const existing = readIfThere(join(data, 'PG_VERSION'))?.trim();
  if (!existing)
    throw new StartError(
      `${data} holds no whole database: its file PG_VERSION is missing or empty. Restore a back-up into another ` +
        'DATA_DIR, or move this folder away if it holds nothing of worth.',
    );
  const { stdout } = await run(postgres, ['--version']);
  const major = /(\d+)/.exec(stdout)?.[1];
  if (existing !== major)
    throw new StartError(
      `The database in ${data} was made by PostgreSQL ${existing}, the one installed is ${major}: dump ` +
        'it with the old release and load it into a new DATA_DIR.',
    );
}

/**
 * The right to run on a database that lies outside of its data folder: a copy of the data folder points there too.
 * @returns undefined: it lies inside
 * @throws StartError when the service of another data folder runs on it
 */
export function lockOutside({ data }: PostgresPlace, dataDir: string): Lock | undefined {
  const target = targetOf(data);
  if (target === undefined) return undefined;
  usableFolder('The folder of the database', dirname(target));
  return takeLock(
    `${target}.supervisor.json`,
    ({ pid }) =>
      `The database of DATA_DIR ${dataDir} lies in ${target}, where the service of another folder works on it ` +
      `(process ${pid}): this folder is a copy. Stop that service, or restore a back-up ("npm run restore").`,
  );
}

/** Where a link leads, which need not exist; undefined: it is none. */
function targetOf(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
