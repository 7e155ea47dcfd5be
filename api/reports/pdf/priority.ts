import { readFile, readdir, writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/** Enough to stand behind those who are waited for, not so much that a busy machine never prints. */
export const LOW_PRIORITY = 5;

/**
 * Lets a session's processes give way to all others, where the kernel shares its time out among sessions: only the
 * session's own number counts there. Of `pid`, which leads it.
 */
export const lowerSessionPriority = (pid: number): Promise<void> =>
  process.platform === 'linux' ? writeFile(`/proc/${pid}/autogroup`, String(LOW_PRIORITY)) : Promise.resolve();

/**
 * Lets processes give way, with all their threads: on Linux each thread has a priority of its own, and a browser that
 * may (as root) gives those that draw a better one than anybody's. A thread that starts meanwhile has the priority of
 * the one that starts it, so all are looked at until none is left to be lowered. What is gone already is passed by.
 */
export async function lowerPriority(pids: readonly number[]): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    let lowered = 0;
    for (const pid of pids)
      for (const id of process.platform === 'linux' ? await threadsOf(pid) : [pid])
        lowered += Number(threadGivesWay(id));
    if (lowered === 0) return;
  }
}

/**
 * Lets a process and all below it give way. The processes from which a browser forks those that draw are among them:
 * the browser does not name them, and what they fork later has their priority.
 */
export async function lowerTreePriority(pid: number): Promise<void> {
  await lowerPriority([pid, ...(await below(pid))]);
}

const MAX_PASSES = 10;

/** Whether its priority had to be lowered. */
function threadGivesWay(id: number): boolean {
  try {
    if (getPriority(id) >= LOW_PRIORITY) return false;
    setPriority(id, LOW_PRIORITY);
    return true;
  } catch (fault) {
    if (
      (fault as { code?: unknown }).code !== 'ERR_SYSTEM_ERROR' ||
      (fault as { info?: { code?: unknown } }).info?.code !== 'ESRCH'
    )
      throw fault;
    return false;
  }
}

/** Processes below one, however deep. None where the kernel does not list them. */
async function below(pid: number): Promise<number[]> {
  const found: number[] = [];
  for (const thread of process.platform === 'linux' ? await threadsOf(pid) : []) {
    const children = await unlessGone(readFile(`/proc/${pid}/task/${thread}/children`, 'utf8'), '');
    for (const child of children.split(' ').filter(Boolean).map(Number)) found.push(child, ...(await below(child)));
  }
  return found;
}

const threadsOf = async (pid: number): Promise<number[]> =>
  (await unlessGone(readdir(`/proc/${pid}/task`), [])).map(Number);

const unlessGone = <T>(reading: Promise<T>, otherwise: T): Promise<T> =>
  reading.catch((fault: NodeJS.ErrnoException) => {
    // A process that ends while it is read: either may come.
    if (fault.code !== 'ENOENT' && fault.code !== 'ESRCH') throw fault;
    return otherwise;
  });
