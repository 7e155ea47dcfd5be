import { readFileSync } from 'node:fs';

/**
 * Processor time that the main thread of a process has used, in milliseconds: what runs in its event loop, and nothing
 * of its other threads. It does not depend on who else uses the machine. Undefined where the system does not tell.
 */
export function mainThreadMs(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fault;
  }
}
