import { execFile } from 'node:child_process';
import { root } from './environment.js';

/** Runs a program of the checkout with Node to its end; `output` is all that it printed. */
export function ran(args: string[], env: NodeJS.ProcessEnv): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env }, (fault, stdout, stderr) => resolve({ code: typeof fault?.code === 'number' ? fault.code : fault ? -1 : 0, output: stdout + stderr }));
  });
}
