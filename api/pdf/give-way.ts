import { readdir, writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/** Enough to stand behind those who are waited for, not so much that a busy machine never prints. */
export const LOW_PRIORITY = 5;

/**
 * Lets a session's processes give way to all others, where the kernel shares its time out among sessions: only the
 * session's own number counts there. Of `pid`, which leads it.
 */
export const sessionGivesWay = (pid: number): Promise<void> =>
  process.platform === 'linux' ? writeFile(`/proc/${pid}/autogroup`, String(LOW_PRIORITY)) : Promise.resolve();

/**
 * Lets processes give way, with all their threads: on Linux each thread has a priority of its own, and a browser that
 * may (as root) gives those that draw a better one than anybody's. What is gone already is passed by.
 */
export async function giveWay(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    for (const id of process.platform === 'linux' ? await threadsOf(pid) : [pid]) {
      try {
        if (getPriority(id) < LOW_PRIORITY) setPriority(id, LOW_PRIORITY);
      } catch (fault) {
        if (
          (fault as { code?: unknown }).code !== 'ERR_SYSTEM_ERROR' ||
          (fault as { info?: { code?: unknown } }).info?.code !== 'ESRCH'
        )
          throw fault;
      }
    }
  }
}

const threadsOf = async (pid: number): Promise<number[]> => {
  try {
    return (await readdir(`/proc/${pid}/task`)).map(Number);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fault;
  }
};
