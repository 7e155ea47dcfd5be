import type { FileResult, TestResult } from './messages.js';

/** How many of the slowest files are listed at the end. */
const SLOWEST = 20;
/** A slower test is printed with its time. */
const SLOW_TEST_MS = 2000;

const MARKS = { passed: '✔', failed: '✘', skipped: '-' } as const;
const seconds = (ms: number): string => (ms / 1000).toFixed(1);
const count = (result: FileResult, state: TestResult['state']): number =>
  result.tests.filter((test) => test.state === state).length;

export const totals = (results: readonly FileResult[]) => ({
  passed: sum(results.map((result) => count(result, 'passed'))),
  failed: sum(results.map((result) => count(result, 'failed'))),
  skipped: sum(results.map((result) => count(result, 'skipped'))),
});

/** The output for a completed file: a line, its failures in full, and with `verbose` each test. */
export function describeFile(result: FileResult, position: string, verbose: boolean): string {
  const failed = result.tests.filter(({ state }) => state === 'failed');
  const numbers = (['passed', 'failed', 'skipped'] as const)
    .map((state) => [count(result, state), state] as const)
    .filter(([number, state]) => number > 0 || state === 'passed')
    .map(([number, state]) => `${number} ${state}`);
  const line =
    `${position} ${MARKS[failed.length > 0 ? 'failed' : 'passed']} ${result.file}: ${numbers.join(', ')} ` +
    `(${seconds(result.ms)} s)`;
  return [line, ...(verbose ? listTests(result) : []), ...failed.map(describeFailure)].join('\n');
}

function listTests(result: FileResult): string[] {
  let suites: readonly string[] = [];
  return result.tests.flatMap(({ path, state, ms }) => {
    const [title, above] = [path.at(-1)!, path.slice(0, -1)];
    const shared = above.findIndex((suite, level) => suites[level] !== suite);
    const fresh = shared === -1 ? [] : above.slice(shared).map((suite, level) => `${indent(shared + level)}${suite}`);
    suites = above;
    const time = ms >= SLOW_TEST_MS ? ` (${seconds(ms)} s)` : '';
    return [...fresh, `${indent(above.length)}${MARKS[state]} ${title}${time}`];
  });
}

const indent = (level: number): string => '  '.repeat(level + 2);

export const describeFailure = ({ path, fault }: TestResult): string =>
  `\n  ✘ ${path.join(' › ')}\n${(fault ?? '').replace(/^/gm, '    ')}\n`;

/**
 * The slowest files.
 * Set-up: loading, hooks, ending what was started. Waiting: polling a service. Both are parts of the total.
 * Processor: of the file's runner and its service; two processors have two seconds a second.
 */
export function slowestFiles(results: readonly FileResult[]): string {
  const rows = [...results]
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(({ file, tests, ms, setUpMs, waitingMs, processorMs }) => [
      seconds(ms),
      seconds(setUpMs),
      seconds(waitingMs),
      processorMs === undefined ? '' : seconds(processorMs),
      String(tests.length),
      file,
    ]);
  const header = ['seconds', 'set-up', 'waiting', 'processor', 'tests', 'file'];
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === header.length - 1 ? cell : cell.padStart(widths[column]!))).join('  ');
  const all =
    `${results.length} files: ${seconds(sum(results.map(({ ms }) => ms)))} s, of these set-up ` +
    `${seconds(sum(results.map(({ setUpMs }) => setUpMs)))} s, waiting ` +
    `${seconds(sum(results.map(({ waitingMs }) => waitingMs)))} s; processor ` +
    `${seconds(sum(results.map(({ processorMs = 0 }) => processorMs)))} s`;
  return ['The slowest files', line(header), ...rows.map(line), all].join('\n');
}

/** Seconds of a file, as `--durations` writes them; the order of the files needs the first alone. */
export interface Duration {
  seconds: number;
  setUp?: number;
  waiting?: number;
  processor?: number;
}

/** For `--durations`: a line for each file, sorted by name so that two runs can be compared. */
export function durationsJson(results: readonly FileResult[]): string {
  const lines = [...results]
    .sort((a, b) => (a.file < b.file ? -1 : 1))
    .map(({ file, ms, setUpMs, waitingMs, processorMs }) => {
      const duration: Duration = {
        seconds: rounded(ms),
        setUp: rounded(setUpMs),
        waiting: rounded(waitingMs),
        ...(processorMs !== undefined && { processor: rounded(processorMs) }),
      };
      return `  ${JSON.stringify(file)}: ${JSON.stringify(duration)}`;
    });
  return `{\n${lines.join(',\n')}\n}\n`;
}

const rounded = (ms: number): number => Number(seconds(ms));

/** For `--results`: a line for each test. */
export const resultLines = (result: FileResult): string =>
  result.tests
    .map(({ path, state, ms }) => `${JSON.stringify({ file: result.file, path, state, ms: Math.round(ms) })}\n`)
    .join('');

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
