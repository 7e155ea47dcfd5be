import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { TOKENS } from './simulator-client.js';

const run = promisify(execFile);

/** The checkout's root: where package.json is, from the sources as from a compiled test. */
function checkout(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) folder = path.dirname(folder);
  return folder;
}

const SCRIPTS = path.join(checkout(), 'test/capture/pycap');
const ENVIRONMENT = path.join(checkout(), '.cache/pycap');
const PYTHON = path.join(ENVIRONMENT, 'bin/python');

async function output(command: string, args: string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  try {
    return (await run(command, args, { env })).stdout;
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string };
    throw new Error(`${path.basename(command)} ${args.map((arg) => path.basename(arg)).join(' ')} failed:\n${stdout}${stderr || message}`, { cause: error });
  }
}

/** A virtual environment with the pinned packages; made once, and again when the pins change. */
async function prepareEnvironment(): Promise<void> {
  const requirements = await readFile(path.join(SCRIPTS, 'requirements.txt'), 'utf8');
  const stamp = path.join(ENVIRONMENT, 'installed.txt');
  const installed = await readFile(stamp, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (installed === requirements && existsSync(PYTHON)) return;
  await rm(ENVIRONMENT, { recursive: true, force: true });
  await mkdir(path.dirname(ENVIRONMENT), { recursive: true });
  await output('python3', ['-m', 'venv', ENVIRONMENT]);
  await output(PYTHON, ['-m', 'pip', 'install', '--quiet', '--no-input', '-r', path.join(SCRIPTS, 'requirements.txt')]);
  await writeFile(stamp, requirements);
}

describe('PyCap, a client that this project did not write, against the capture simulator', function () {
  this.timeout(300_000);
  let simulator: Simulator;

  before(async function () {
    // Without Python there is nothing to run the client in: the tests then show as pending, not as passed.
    const python = await run('python3', ['--version']).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (python === undefined) this.skip();
    await prepareEnvironment();
    simulator = await startSimulator();
  });
  after(async () => {
    await simulator?.stop();
  });

  const script = async (name: string, token: string): Promise<string> => {
    simulator.control.reset();
    return output(PYTHON, [path.join(SCRIPTS, name)], {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      NO_PROXY: '127.0.0.1',
      CAPTURE_API_URL: simulator.apiUrl,
      CAPTURE_TOKEN: token,
      CAPTURE_READ_ONLY_TOKEN: TOKENS.readOnly,
      CAPTURE_WRONG_TOKEN: '0123456789ABCDEF0123456789ABCDEF',
    });
  };

  it('reads, writes and deletes in a longitudinal project', async () => {
    expect(await script('longitudinal.py', TOKENS.longitudinal)).to.equal('longitudinal: all as expected\n');
    const contents = new Set(simulator.control.calls().map((call) => call.content));
    for (const content of ['record', 'metadata', 'instrument', 'event', 'arm', 'formEventMapping', 'project', 'version', 'user', 'exportFieldNames']) {
      expect(contents).to.include(content);
    }
  });

  it('reads, writes and deletes in a classic project', async () => {
    expect(await script('classic.py', TOKENS.classic)).to.equal('classic: all as expected\n');
  });
});
