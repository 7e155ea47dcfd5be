import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readIfThere } from '../../scripts/runtime/files.js';
import type { RunJson } from '../../scripts/runtime/run-json.js';
import { root, testEnvironment } from '../support/environment.js';
import { temporaryDataDir, until } from '../support/service.js';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';

const LIMIT = { warm: 12, cold: 120 };

/** START: `npm start` where everything is installed, built and there from before, until run.json says ready. */
export async function warmStart(rounds: number): Promise<Figure[]> {
  const dataDir = temporaryDataDir();
  await seconds(root, dataDir, 240);
  const took: number[] = [];
  for (let i = 0; i < rounds; i += 1) took.push(await seconds(root, dataDir, 120));
  return [ofLimit('START', median(took), LIMIT.warm, 's', 'warm npm start until ready')];
}

/** START_COLD: a clean copy without node_modules, dist and data; the package cache of npm is warm. */
export async function coldStart(): Promise<Figure[]> {
  const copy = mkdtempSync(join(tmpdir(), 'research-assessment-bench-'));
  // As root, PostgreSQL runs as another user and must be able to pass through.
  chmodSync(copy, 0o711);
  try {
    for (const file of execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
      .split('\0')
      .filter(Boolean)) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(join(root, file), join(copy, file));
    }
    return [
      ofLimit(
        'START_COLD',
        await seconds(copy, join(copy, '.data'), 600),
        LIMIT.cold,
        's',
        'npm start on a clean copy, warm package cache',
      ),
    ];
  } finally {
    rmSync(copy, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Starts as a person does, waits until it is ready, stops it again. */
async function seconds(folder: string, dataDir: string, patience: number): Promise<number> {
  const env = testEnvironment({ DATA_DIR: dataDir });
  // npm tells the programs that it runs about itself: the started one must find out again.
  for (const name of Object.keys(env)) if (name.startsWith('npm_')) delete env[name];
  const began = performance.now();
  const child = spawn('npm', ['start'], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exit = once(child, 'exit');
  let ended = false;
  void exit.then(() => {
    ended = true;
  });
  const file = join(dataDir, 'run.json');
  try {
    await until(() => ended || readIfThere(file) !== undefined, {
      timeout: patience * 1000,
      interval: 20,
      what: 'npm start to be ready',
    });
    if (ended) throw new Error('npm start ended');
    return (performance.now() - began) / 1000;
  } catch (fault) {
    throw new Error(`${(fault as Error).message}\n${output}`, { cause: fault });
  } finally {
    if (!ended) {
      const text = readIfThere(file);
      process.kill(
        text === undefined ? child.pid! : (JSON.parse(readFileSync(file, 'utf8')) as RunJson).pids.supervisor,
        'SIGTERM',
      );
      await exit;
    }
  }
}
