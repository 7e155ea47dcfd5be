import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from './environment.js';

const run = promisify(execFile);

/** What a program has printed. @throws Error with all of its output where it fails */
async function output(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  try {
    return (await run(command, args, { env, maxBuffer: 1 << 24 })).stdout;
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string };
    throw new Error(
      `${path.basename(command)} ${args.map((arg) => path.basename(arg)).join(' ')} ` +
        `failed:\n${stdout}${stderr || message}`,
      { cause: error },
    );
  }
}

/** Programs in Python with packages that this project did not write. */
export interface Python {
  /** Where its programs lie. */
  bin: string;
  /** Runs a program of the folder. */
  run(script: string, args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
}

/**
 * A virtual environment with the pinned packages of a folder's requirements.txt; made once, and again when the pins
 * change. Undefined where there is no Python: what it would show is then pending, not passed.
 * @param folder from the checkout's root
 */
export async function pythonOf(folder: string, name: string): Promise<Python | undefined> {
  const there = await run('python3', ['--version']).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined) return undefined;
  const scripts = path.join(root, folder);
  const environment = path.join(root, '.cache', name);
  const python = path.join(environment, 'bin/python');
  const requirements = await readFile(path.join(scripts, 'requirements.txt'), 'utf8');
  const stamp = path.join(environment, 'installed.txt');
  const installed = await readFile(stamp, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (installed !== requirements || !existsSync(python)) {
    await rm(environment, { recursive: true, force: true });
    await mkdir(path.dirname(environment), { recursive: true });
    await output('python3', ['-m', 'venv', environment]);
    await output(python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      '-r',
      path.join(scripts, 'requirements.txt'),
    ]);
    await writeFile(stamp, requirements);
  }
  return {
    bin: path.dirname(python),
    run: (script, args = [], env = {}) =>
      output(python, [path.join(scripts, script), ...args], {
        ...process.env,
        PYTHONDONTWRITEBYTECODE: '1',
        NO_PROXY: '127.0.0.1',
        ...env,
      }),
  };
}
