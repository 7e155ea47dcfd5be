import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import type { Stage } from './stage.js';

const IDLE_SECONDS = 20;

/** Resident memory of a process in MB. */
export const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** MEM: what the two processes of ours hold when nothing has been asked of them for a while. */
export async function memoryFigures({ service }: Stage): Promise<Figure[]> {
  await sleep(IDLE_SECONDS * 1000);
  const { api, worker } = service.current().pids;
  return [
    ofLimit('MEM_API', residentMb(api!), 200, 'MB', `resident memory of the API, ${IDLE_SECONDS} s idle`),
    ofLimit('MEM_WORKER', residentMb(worker!), 350, 'MB', `resident memory of the worker, ${IDLE_SECONDS} s idle`),
  ];
}
