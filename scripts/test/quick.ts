/**
 * `npm run test:quick`: a result within two minutes. Types of everything, lint and format of changed files, the tests
 * of the domain, and one journey over HTTP through the real servers (the demo). `npm test` is decisive.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../test/support/environment.js';

const LINTED = /\.(ts|mjs|cjs|js)$/;
const TESTS = ['test/domain', 'test/demo.test.ts'];

interface Check {
  what: string;
  command: string[];
}

const bin = (path: string): string => join(root, 'node_modules', path);
const began = performance.now();
const seconds = (): string => ((performance.now() - began) / 1000).toFixed(1);

/** Files that differ from the last commit; in a clean checkout, those of the last commit. */
async function changedFiles(): Promise<string[]> {
  const git = async (...args: string[]): Promise<string[]> =>
    (await promisify(execFile)('git', args, { cwd: root })).stdout.split('\n').filter(Boolean);
  const uncommitted = [
    ...(await git('diff', '--name-only', '--diff-filter=d', 'HEAD')),
    ...(await git('ls-files', '--others', '--exclude-standard')),
  ];
  return uncommitted.length > 0
    ? uncommitted
    : git('diff-tree', '--root', '--no-commit-id', '--name-only', '--diff-filter=d', '-r', 'HEAD');
}

/** Runs a check to its end; its output is shown when it fails. */
async function passes({ what, command }: Check): Promise<boolean> {
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  process.stderr.write(`[${seconds().padStart(5)} s] ${what}: ${code === 0 ? 'passed' : `failed\n${output}`}\n`);
  return code === 0;
}

const linted = (await changedFiles()).filter((file) => LINTED.test(file));
const checks: Check[] = [
  {
    what: 'types',
    command: [
      bin('@typescript/native/bin/tsc'),
      '--checkers',
      '1',
      '--noEmit',
      '--incremental',
      '--tsBuildInfoFile',
      '.cache/typecheck.tsbuildinfo',
    ],
  },
];
if (linted.length > 0)
  checks.push(
    {
      what: `layout of ${linted.length} changed files`,
      command: [bin('prettier/bin/prettier.cjs'), '--check', ...linted],
    },
    {
      what: `lint of ${linted.length} changed files`,
      command: [bin('eslint/bin/eslint.js'), '--no-warn-ignored', ...linted],
    },
  );

const outcomes = Promise.all(checks.map(passes));
// The tests print their own output; their count ends it.
const tests = spawn(
  process.execPath,
  [join(root, 'scripts', 'test.mjs'), '--runners', '2', ...process.argv.slice(2), ...TESTS],
  {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
let told = '';
tests.stdout.setEncoding('utf8').on('data', (chunk: string) => {
  told += chunk;
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal));
const [code] = (await once(tests, 'close')) as [number | null];
const held = (await outcomes).every(Boolean);
process.stderr.write(`[${seconds().padStart(5)} s] done\n`);
process.stdout.write(told);
process.exitCode = code === 0 && held ? 0 : 1;
