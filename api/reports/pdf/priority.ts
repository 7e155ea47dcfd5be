import { readFile, readdir, writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/** Low enough to yield to requests, high enough that a busy machine still prints. */
export const LOW_PRIORITY = 5;

/**
 * Lowers a session's priority, where the kernel schedules by session: only the session's own value counts there. `pid`
 * leads the session.
 */
export const lowerSessionPriority = (pid: number): Promise<void> =>
  process.platform === 'linux' ? writeFile(`/proc/${pid}/autogroup`, String(LOW_PRIORITY)) : Promise.resolve();

/**
 * Lowers the priority of processes with all their threads: on Linux each thread has its own, and a browser running as
 * root raises that of its drawing threads. A new thread inherits its creator's priority, so this repeats until no
 * thread is left to be lowered. Ended threads are skipped.
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
 * Lowers the priority of a process and all its descendants. They include the processes from which a browser forks those
 * that draw: the browser does not name them, and later forks inherit their priority.
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

/** The descendants of a process. None if the kernel does not list them. */
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
    // The process ended during reading: both errors are possible.
    if (fault.code !== 'ENOENT' && fault.code !== 'ESRCH') throw fault;
    return otherwise;
  });
