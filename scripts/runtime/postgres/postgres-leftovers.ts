import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere } from '../files.js';
import { end, errorCode, gone, identify, type Identity } from '../processes.js';
import { StartError } from '../start-error.js';

/**
 * Stops processes that still use the data folder: a postmaster of a killed supervisor, or server processes of a killed
 * postmaster. Two servers on one folder would destroy it, so nothing is started before they have ended. The lock file
 * is only removed if no process holds it: PostgreSQL itself refuses to start if an unrelated process has that pid.
 * @throws StartError when one of them cannot be stopped
 */
export async function stopLeftovers(data: string): Promise<void> {
  const lockFile = join(data, 'postmaster.pid');
  const lock = readIfThere(lockFile);
  if (lock === undefined) return;
  const folder = realpathSync(data);
  const postmaster = identify(Number(lock.split('\n')[0]));
  if (postmaster && worksOn(postmaster.pid, folder)) {
    // Fast, then immediate (with recovery at the next start), then killed.
    if (
      !(await end(postmaster, [
        ['SIGINT', 10],
        ['SIGQUIT', 5],
        ['SIGKILL', 5],
      ]))
    )
      throw stubborn(postmaster, data);
  }
  await Promise.all(
    serversOf(folder).map(async (process) => {
      // They notice that their postmaster is gone; one in a long statement is ended.
      if (
        !(await gone(process, 1)) &&
        !(await end(process, [
          ['SIGQUIT', 2],
          ['SIGKILL', 3],
        ]))
      )
        throw stubborn(process, data);
    }),
  );
  rmSync(lockFile, { force: true });
}

const stubborn = (process: Identity, data: string) =>
  new StartError(
    `PostgreSQL process ${process.pid} still works on ${data} and cannot be stopped: end it, or set DATA_DIR ` +
      'to another folder.',
  );

/** Every PostgreSQL process has the data folder as its working directory; only visible in /proc. */
function serversOf(folder: string): Identity[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && worksOn(Number(name), folder))
    .map((name) => identify(Number(name)))
    .filter((identity) => identity !== undefined);
}

function worksOn(pid: number, folder: string): boolean {
  try {
    if (process.platform !== 'linux') {
      const command = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return command.includes('postgres') && command.includes(folder);
    }
    return readlinkSync(`/proc/${pid}/cwd`) === folder && /^postgres\b/.test(readFileSync(`/proc/${pid}/comm`, 'utf8'));
  } catch (fault) {
    // It has ended, or belongs to another user: not ours.
    if (fault instanceof Error && 'status' in fault) return false;
    if (['ENOENT', 'EACCES', 'ESRCH', 'EPERM'].includes(errorCode(fault) ?? '')) return false;
    throw fault;
  }
}
