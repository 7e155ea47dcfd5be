import { Worker } from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread whose program is in the caller's folder. Its traces name the sources.
 * @param name without an extension, as `./thread`
 * @param from the caller's `import.meta.url`
 */
export const startThread = (name: string, from: string, options: WorkerOptions = {}): Worker =>
  new Worker(new URL(`${name}.js`, from), { execArgv: ['--enable-source-maps'], ...options });
