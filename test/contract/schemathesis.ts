import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { root } from '../support/environment.js';
import type { Python } from '../support/python.js';
import { makeWorld } from './world.js';
import type { World } from './world.js';

export interface Fuzzing {
  /** Cases for each operation. */
  examples: number;
  seed: number;
  phases: readonly string[];
  /** Options of `schemathesis run` beside. */
  more?: readonly string[];
}

/** An answer may take so long, seconds. The first document waits for a browser to start: it is printed beforehand. */
const LONGEST_ANSWER_SECONDS = 10;

/** Where its settings, hooks and pinned packages lie. */
export const SOURCES = 'test/contract/schemathesis';

/** Runs schemathesis with all its checks over the whole contract against the service that the tests share. */
export async function fuzz(
  python: Python,
  { examples, seed, phases, more = [] }: Fuzzing,
): Promise<{ code: number | null; output: string }> {
  const stage = await Stage.open();
  // What it remembers of a run would make the next another one.
  const folder = await mkdtemp(join(tmpdir(), 'schemathesis-'));
  try {
    const world = await makeWorld(stage);
    await startBrowser(stage, world);
    const args = [
      'run',
      join(root, 'docs', 'openapi.json'),
      '--url',
      world.api,
      '--checks',
      'all',
      '--phases',
      phases.join(','),
      '--max-examples',
      String(examples),
      '--seed',
      String(seed),
      '--generation-database',
      'none',
      '--suppress-health-check',
      'all',
      '--no-color',
      '--continue-on-failure',
      '--request-timeout',
      '60',
      '--max-response-time',
      String(LONGEST_ANSWER_SECONDS),
      ...more,
    ];
    return await ran(
      join(python.bin, 'schemathesis'),
      ['--config-file', join(root, SOURCES, 'schemathesis.toml'), ...args],
      folder,
      {
        ...process.env,
        CONTRACT_WORLD: JSON.stringify(world),
        ...python.bytecode,
        PYTHONPATH: join(root, SOURCES),
        NO_PROXY: '127.0.0.1',
        SCHEMATHESIS_HOOKS: 'hooks',
      },
    );
  } finally {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A printed document leaves the service's browser running. */
async function startBrowser({ admin }: Stage, { ids }: World): Promise<void> {
  const document = `/api/reports/studies/${ids.study_id}/pdf/summary`;
  expect((await admin.get(document)).status, document).to.equal(200);
}

/** A program to its end, with all that it said. */
function ran(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
