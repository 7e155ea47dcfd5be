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
  /** What their environment has besides. */
  bytecode: Record<string, string>;
  /** Runs a program of the folder. */
  run(script: string, args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
}

/** What was compiled is kept beside the packages, not among the sources. */
const bytecodeOf = (environment: string) => ({ PYTHONPYCACHEPREFIX: path.join(environment, 'bytecode') });

/** The system's pip; where there is none, one of the environment itself, which takes seconds to make. */
async function pipFor(python: string): Promise<[string, string[]]> {
  const theirs = ['-m', 'pip', '--python', python];
  const works = await run('python3', [...theirs, '--version']).then(
    () => true,
    () => false,
  );
  if (works) return ['python3', theirs];
  await output(python, ['-m', 'ensurepip', '--default-pip']);
  return [python, ['-m', 'pip']];
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
    await output('python3', ['-m', 'venv', '--without-pip', environment]);
    // Without `--no-compile` every module is compiled, also those that nobody imports.
    const options = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-compile'];
    const [pip, before] = await pipFor(python);
    await output(pip, [...before, 'install', ...options, '-r', path.join(scripts, 'requirements.txt')]);
    await writeFile(stamp, requirements);
  }
  return {
    bin: path.dirname(python),
    bytecode: bytecodeOf(environment),
    run: (script, args = [], env = {}) =>
      output(python, [path.join(scripts, script), ...args], {
        ...process.env,
        ...bytecodeOf(environment),
        NO_PROXY: '127.0.0.1',
        ...env,
      }),
  };
}
