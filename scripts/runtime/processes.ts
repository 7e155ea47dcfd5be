import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A process that a later run can identify. The pid alone is not enough: after a crash or a reboot it may belong to an
 * unrelated program, which must never be signalled.
 */
export interface Identity {
  pid: number;
  birth: string;
}

/** The process with a pid, or undefined (also for a zombie, which only waits to be reaped). */
export function identify(pid: number): Identity | undefined {
  const birth = process.platform === 'linux' ? birthFromProc(pid) : birthFromPs(pid);
  return birth === undefined ? undefined : { pid, birth };
}

/** Whether this very process is still running. */
export const lives = (identity: Identity): boolean => identify(identity.pid)?.birth === identity.birth;

/** Sends a signal; false when the process has ended. A negative pid means its whole process group. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (fault) {
    if (errorCode(fault) === 'ESRCH') return false;
    throw fault;
  }
}

/**
 * Sends the signals in turn, each with its grace period in seconds, until the process has ended; false: it is still
 * running.
 */
export async function end(identity: Identity, steps: [name: NodeJS.Signals, graceSeconds: number][]): Promise<boolean> {
  for (const [name, graceSeconds] of steps) {
    if (!lives(identity)) return true;
    signal(identity.pid, name);
    if (await gone(identity, graceSeconds)) return true;
  }
  return !lives(identity);
}

/** Waits until the process has ended, at most so many seconds. */
export async function gone(identity: Identity, seconds: number): Promise<boolean> {
  const deadline = performance.now() + seconds * 1000;
  while (lives(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

export const errorCode = (fault: unknown): string | undefined =>
  fault instanceof Error && 'code' in fault && typeof fault.code === 'string' ? fault.code : undefined;

let bootId: string | undefined;

function birthFromProc(pid: number): string | undefined {
  try {
    // The command's name, in brackets, may contain spaces and brackets: the fields are counted from the last bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    if (state === 'Z' || state === 'X') return undefined;
    bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${bootId}/${start}`;
  } catch (fault) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(fault) ?? '')) return undefined;
    throw fault;
  }
}

function birthFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const [state, ...start] = line.split(/\s+/);
    return !state || state.startsWith('Z') ? undefined : start.join(' ');
  } catch (fault) {
    // ps exits with 1 if there is no such process.
    if (fault instanceof Error && 'status' in fault && fault.status === 1) return undefined;
    throw fault;
  }
}
