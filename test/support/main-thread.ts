import { readFileSync, readdirSync } from 'node:fs';

/**
 * Processor time that the main thread of a process has used, in milliseconds: what runs in its event loop, and nothing
 * of its other threads. It does not depend on who else uses the machine. Undefined where the system does not tell.
 */
export const mainThreadMs = (pid: number): number | undefined => told(() => threadMs(pid, String(pid)));

/** The same of all its threads, of those that are there. */
export const processMs = (pid: number): number | undefined =>
  told(() =>
    readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + (told(() => threadMs(pid, thread)) ?? 0), 0),
  );

const threadMs = (pid: number, thread: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

function told(look: () => number): number | undefined {
  try {
    return look();
  } catch (fault) {
    if (['ENOENT', 'ESRCH'].includes((fault as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw fault;
  }
}
