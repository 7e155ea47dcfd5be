import { Worker } from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * A thread that runs the program of this name beside the caller's own file. From the sources it needs the translator
 * that this process runs under; from dist nothing.
 * @param name without an extension, as `./thread`
 * @param from the caller's `import.meta.url`
 */
export function threadOf(name: string, from: string, options: WorkerOptions = {}): Worker {
  const file = new URL(`${name}${from.endsWith('.ts') ? '.ts' : '.js'}`, from);
  return file.pathname.endsWith('.ts')
    ? new Worker(
        `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(file.href)}); });`,
        { ...options, eval: true },
      )
    : new Worker(file, options);
}
