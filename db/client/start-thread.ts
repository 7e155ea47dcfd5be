import { Worker } from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread whose program is in the caller's folder. The build joins the program to one file (scripts/join.mjs),
 * and it imports process/traces.ts first: the engine's own flag for traces reads the maps of all files at each start.
 * @param name without an extension, as `./thread`
 * @param from the caller's `import.meta.url`
 */
export const startThread = (name: string, from: string, options: WorkerOptions = {}): Worker =>
  new Worker(new URL(`${name}.js`, from), { execArgv: [], ...options });
