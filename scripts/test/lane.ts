import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_OPTIONS } from '../runtime/node-part.js';
import { root, testEnvironment } from '../../test/support/environment.js';
import { startService } from '../../test/support/service.js';
import type { Service } from '../../test/support/service.js';
import type { FileResult, RunFile, TestFailed } from './messages.js';
import { processorMs } from './processor.js';

/** After the last file, how long open handles of a test may keep the runner alive. */
const OPEN_HANDLES_PATIENCE_MS = 15_000;
/**
 * Its heap holds the modules of all files that it has run: looking through it whenever it has grown a little took a
 * fifth of its processor time.
 */
const RUNNER_OPTIONS = [...NODE_OPTIONS, '--initial-old-space-size=512', '--enable-source-maps'];
/** Lines of each log of the lane's service, shown with each failed test. */
const LOG_LINES = 15;

/** A service and the process that runs test files against it, one after another. */
export class Lane {
  private runner: ChildProcess | undefined;
  private busy = false;
  private readonly faults: string[] = [];
  private constructor(
    readonly name: string,
    private readonly service: Service,
    private readonly dataRoot: string,
    private readonly say: (text: string) => void,
  ) {}

  static async start(name: string, dataRoot: string, say: (text: string) => void): Promise<Lane> {
    return new Lane(name, await startService(), dataRoot, say);
  }

  /** Runs one file. A crashed runner is one failed test of that file; the next file gets a new runner. */
  async run(order: RunFile): Promise<FileResult> {
    const began = performance.now();
    const runner = (this.runner ??= this.startRunner());
    this.busy = true;
    const counted = [runner.pid, this.service.run.pids.supervisor].filter((pid) => pid !== undefined);
    const usedBefore = processorMs(counted);
    return new Promise<FileResult>((resolve) => {
      const finish = (result: FileResult): void => {
        runner.off('message', heard);
        runner.off('exit', died);
        this.busy = false;
        const used = processorMs(counted);
        // A runner that has ended no longer reports its time.
        const usedMs = used === undefined || usedBefore === undefined ? undefined : Math.max(0, used - usedBefore);
        resolve(usedMs === undefined ? result : { ...result, processorMs: usedMs });
      };
      const heard = (message: FileResult | TestFailed): void => {
        if ('failed' in message) this.sayLogs(message.failed);
        else finish(message);
      };
      const died = (code: number | null, signal: string | null): void => {
        const fault = `The process that ran the file ended (${signal ?? `exit code ${code}`}).`;
        const tests = [{ path: [order.file, 'runs to its end'], state: 'failed' as const, ms: 0, fault }];
        finish({ file: order.file, tests, ms: performance.now() - began, setUpMs: 0, waitingMs: 0 });
      };
      runner.on('message', heard);
      runner.once('exit', died);
      // An unreachable runner ends, which is handled above.
      runner.send(order, () => undefined);
    });
  }

  /**
   * Ends the runner after its last file.
   * @returns faults at the end of this lane's runners
   */
  async end(): Promise<string[]> {
    const { runner } = this;
    if (!runner) return this.faults;
    const exit = once(runner, 'exit');
    runner.disconnect();
    const patience = setTimeout(() => runner.kill('SIGKILL'), OPEN_HANDLES_PATIENCE_MS);
    const [, signal] = (await exit) as [number | null, string | null];
    clearTimeout(patience);
    if (signal === 'SIGKILL')
      this.faults.push('A test does not close what it opens: its process did not end after the last file.');
    return this.faults;
  }

  /** Kills the runner. */
  kill(): void {
    this.runner?.kill('SIGKILL');
  }

  private startRunner(): ChildProcess {
    const env = {
      ...testEnvironment(),
      TEST_DATA_ROOT: this.dataRoot,
      TEST_RUN_JSON: join(this.service.dataDir, 'run.json'),
    };
    const runner = spawn(process.execPath, [...RUNNER_OPTIONS, join(root, 'dist', 'scripts', 'test', 'runner.js')], {
      cwd: root,
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    runner.once('exit', (code, signal) => {
      this.runner = undefined;
      // In the middle of a file it is that file's failure; if killed for its open handles, `end` reports it.
      if (this.busy || signal === 'SIGKILL' || code === 0) return;
      this.faults.push(`Work that a test left behind ended a runner (${signal ?? `exit code ${code}`}).`);
    });
    return runner;
  }

  /** Prints the last warnings and errors of the service, which contain neither personal data nor secrets. */
  private sayLogs(test: string): void {
    const lines = ['worker', 'api'].flatMap((part) =>
      readFileSync(join(this.service.dataDir, 'logs', `${part}.log`), 'utf8')
        .split('\n')
        .filter((line) => /^{"level":[456]0\b/.test(line))
        .slice(-LOG_LINES)
        .map((line) => `  ${part}: ${line}`),
    );
    this.say(
      `--- failed: ${test} (${this.name}, ${new Date().toISOString()}); its service's log ---\n${lines.join('\n')}\n`,
    );
  }
}
