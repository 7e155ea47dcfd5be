/**
 * One runner: a process that runs test files, one after another, against the service that `npm test` gave it
 * (TEST_RUN_JSON). It ends when its channel ends; what a test has left open then keeps it alive, which `npm test` sees.
 */
import { join } from 'node:path';
import Mocha from 'mocha';
import { root } from '../../test/support/environment.js';
import { cleanUp } from '../../test/support/service.js';
import { waitedMs } from '../../test/support/until.js';
import type { FileResult, RunFile, TestFailed, TestResult } from './messages.js';

const TEST_TIMEOUT_MS = 120_000;
const STACK_LINES = 12;
const DIFFERENCE_LINES = 60;
const DIFFERENCE_COLUMNS = 300;

// As in mocha's own command: an unhandled rejection fails the running test.
process.on('unhandledRejection', (reason) => {
  throw reason;
});

const say = (message: FileResult | TestFailed): void => {
  process.send!(message);
};

async function runFile({ file, grep, forbidOnly }: RunFile): Promise<FileResult> {
  const began = performance.now();
  const waitedBefore = waitedMs();
  const mocha = new Mocha({ timeout: TEST_TIMEOUT_MS, reporter: Silent, forbidOnly, ...(grep !== null && { grep }) });
  mocha.addFile(join(root, 'dist', file.replace(/\.ts$/, '.js')));
  const tests: TestResult[] = [];
  let setUpMs = 0;
  try {
    await mocha.loadFilesAsync();
    setUpMs += performance.now() - began;
    await new Promise<void>((resolve) => {
      const runner = mocha.run(() => resolve());
      runner.on('hook end', (hook) => {
        setUpMs += (hook as { duration?: number }).duration ?? 0;
      });
      runner.on('pass', (test) => tests.push(resultOf(test, 'passed')));
      runner.on('pending', (test) => tests.push(resultOf(test, 'skipped')));
      runner.on('fail', (test, fault: unknown) => {
        const result = { ...resultOf(test as Mocha.Test, 'failed'), fault: describe(fault) };
        tests.push(result);
        say({ failed: result.path.join(' › ') });
      });
    });
  } catch (fault) {
    // The file does not load: that is its only result.
    tests.push({ path: [file, 'loads'], state: 'failed', ms: 0, fault: describe(fault) });
    say({ failed: file });
  }
  mocha.dispose();
  const ending = performance.now();
  await cleanUp();
  const now = performance.now();
  setUpMs += now - ending;
  return { file, tests, ms: now - began, setUpMs, waitingMs: waitedMs() - waitedBefore };
}

const resultOf = (test: Mocha.Test, state: TestResult['state']): TestResult => ({
  path: test.titlePath(),
  state,
  ms: test.duration ?? 0,
});

function describe(fault: unknown): string {
  if (!(fault instanceof Error)) return `thrown: ${String(fault)}`;
  const stack = (fault.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !/node_modules|node:/.test(line));
  const cause = fault.cause === undefined ? '' : `\n  cause: ${describe(fault.cause)}`;
  return `${fault.name}: ${fault.message}${difference(fault)}\n${stack.slice(0, STACK_LINES).join('\n')}${cause}`;
}

/** For an assertion: the lines that differ from the expected ones. */
function difference(fault: Error & { actual?: unknown; expected?: unknown; showDiff?: boolean }): string {
  if (fault.showDiff === false || !('expected' in fault) || fault.expected === undefined) return '';
  const text = (value: unknown) => (typeof value === 'string' ? value : Mocha.utils.stringify(value));
  const [actual, expected] = [text(fault.actual), text(fault.expected)];
  const lines = Mocha.reporters.Base.generateDiff(actual, expected).split('\n');
  const shown = lines.slice(0, DIFFERENCE_LINES).map((line) => line.slice(0, DIFFERENCE_COLUMNS));
  return [
    ...shown,
    ...(lines.length > DIFFERENCE_LINES ? [`… ${lines.length - DIFFERENCE_LINES} more lines`] : []),
  ].join('\n');
}

/** `npm test` reports; nothing is printed here. */
class Silent extends Mocha.reporters.Base {}

let running = false;
process.on('message', (order: RunFile) => {
  running = true;
  void runFile(order).then((result) => {
    running = false;
    say(result);
  });
});
// `npm test` was killed in the middle of a file: its tests must not continue.
process.on('disconnect', () => {
  if (running) process.exit(1);
});
