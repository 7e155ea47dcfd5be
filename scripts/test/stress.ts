/**
 * `npm run test:stress [-- --times N --load N --clock POSITION|all --seed N] [files or folders of test/]`: runs the
 * suite, or the named files, repeatedly in random order on a loaded machine, and reports each test that failed once.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../test/support/environment.js';
import { CLOCK_POSITIONS, environmentAt } from '../../test/support/clock-position.js';
import type { ClockPosition } from '../../test/support/clock-position.js';
import type { TestResult } from './messages.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: 'string', default: '10' },
    load: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    runners: { type: 'string' },
    clock: { type: 'string', default: 'now' },
  },
});
const wholeNumber = (name: 'times' | 'load' | 'seed', min: number): number => {
  if (!/^\d{1,9}$/.test(values[name]) || Number(values[name]) < min)
    throw new Error(`--${name} takes a whole number from ${min}, not ${values[name]}`);
  return Number(values[name]);
};
const [times, load, firstSeed] = [wholeNumber('times', 1), wholeNumber('load', 0), wholeNumber('seed', 0)];

/**
 * The clock of each run: `now`, one position, or `all` of them in turn.
 * @throws Error that names the positions, or what has to be installed
 */
function clockPositions(name: string): (ClockPosition | undefined)[] {
  if (name === 'now') return [undefined];
  const chosen = CLOCK_POSITIONS.filter((position) => name === 'all' || position.name === name);
  const names = CLOCK_POSITIONS.map((position) => position.name).join(', ');
  if (chosen.length === 0) throw new Error(`--clock takes now, all, ${names}; not ${name}`);
  if (environmentAt(chosen[0]!) === undefined) throw new Error('--clock needs libfaketime: install it first');
  return chosen;
}

/** A process that keeps one processor busy until it is killed or its parent ends. */
const startBurner = (): ChildProcess =>
  spawn(
    process.execPath,
    [
      '-e',
      "process.on('disconnect', () => process.exit()); const burn = () => { for (let i = 0; i < 5e7; i += 1); " +
        'setImmediate(burn); }; burn();',
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );

interface Failure {
  file: string;
  test: string;
  seeds: number[];
}

const clocks = clockPositions(values.clock);
const folder = mkdtempSync(join(tmpdir(), 'test-stress-'));
const failures = new Map<string, Failure>();
const burners = Array.from({ length: load }, startBurner);
let current: ChildProcess | undefined;
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopped = true;
    current?.kill(signal);
  });

let green = 0;
let runs = 0;
try {
  for (; runs < times && !stopped; runs += 1) {
    const seed = firstSeed + runs;
    const results = join(folder, `${seed}.jsonl`);
    const began = performance.now();
    const clock = clocks[runs % clocks.length];
    process.stdout.write(
      `run ${runs + 1} of ${times}: --seed ${seed}, load ${load}, clock ${clock?.name ?? 'now'} …\n`,
    );
    const args = [
      '--seed',
      String(seed),
      '--results',
      results,
      ...(values.runners ? ['--runners', values.runners] : []),
    ];
    current = spawn(process.execPath, [join(root, 'scripts', 'test.mjs'), ...args, ...positionals], {
      cwd: root,
      env: { ...process.env, ...(clock && environmentAt(clock)) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    current.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    const [code] = (await once(current, 'close')) as [number | null];
    const failed = readFileSync(results, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as TestResult & { file: string })
      .filter(({ state }) => state === 'failed');
    for (const { file, path } of failed) {
      const test = path.join(' › ');
      const known = failures.get(`${file}\n${test}`) ?? { file, test, seeds: [] };
      failures.set(`${file}\n${test}`, { ...known, seeds: [...known.seeds, seed] });
    }
    if (code === 0) green += 1;
    else process.stdout.write(output);
    const summary = output.trimEnd().split('\n').at(-1) ?? '';
    process.stdout.write(
      `run ${runs + 1} of ${times}: ${summary} (${((performance.now() - began) / 1000).toFixed(0)} s)\n`,
    );
  }
} finally {
  for (const burner of burners) burner.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
for (const { file, test, seeds } of failures.values())
  process.stdout.write(`failed ${seeds.length} of ${runs} times (seeds ${seeds.join(', ')}): ${file}: ${test}\n`);
process.stdout.write(`\n${green} of ${runs} runs without a failure\n`);
process.exitCode = green === runs && !stopped ? 0 : 1;
