import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './environment.js';

/**
 * The compiled file of one of this checkout's programs.
 * @param name without an extension, as `api/main`
 */
export const compiled = (name: string): string => join(root, 'dist', `${name}.js`);

/** Runs a program of the checkout with Node to its end; `output` is all that it printed. */
export function ran(args: string[], env: NodeJS.ProcessEnv): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env }, (fault, stdout, stderr) =>
      resolve({ code: typeof fault?.code === 'number' ? fault.code : fault ? -1 : 0, output: stdout + stderr }),
    );
  });
}

const run = promisify(execFile);
/** Whether a program that is not ours is installed. */
export const isThere = (program: string): Promise<boolean> =>
  run(program, ['--version']).then(
    () => true,
    (fault: NodeJS.ErrnoException) => {
      if (fault.code === 'ENOENT') return false;
      throw fault;
    },
  );
