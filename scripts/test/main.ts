import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../test/support/environment.js';
import { prepareTemplate } from '../../test/support/template.js';
import { cleanUp, removeDataRoot } from '../../test/support/service.js';
import { createDataRoot, removeAbandonedRoots } from './data-root.js';
import { selectFiles, shuffled, slowestFirst } from './files.js';
import { Lane } from './lane.js';
import type { FileResult } from './messages.js';
import { readOptions } from './options.js';
import type { TestOptions } from './options.js';
import { describeFailure, describeFile, durationsJson, resultLines, slowestFiles, totals } from './report.js';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** With up to this many files each test is named. */
const VERBOSE_UP_TO_FILES = 3;

/**
 * Runs the tests named in the arguments: the requested number of lanes in parallel, each with its own service on free
 * ports and its own folder; everything is removed afterwards.
 * @param stopped ends it early, with everything that was started
 * @throws Error for invalid arguments, or when a service does not start
 */
export async function runTests(args: readonly string[], stopped: AbortSignal): Promise<Counts> {
  const options = readOptions(args);
  const selected = selectFiles(root, options.paths);
  const queue = options.seed === undefined ? slowestFirst(root, selected) : shuffled(selected, options.seed);
  await removeAbandonedRoots();
  const dataRoot = createDataRoot();
  process.env.TEST_DATA_ROOT = dataRoot;
  // `npm run test:guards` runs many files, one after another, on the same schema.
  const shared = process.env.TEST_SHARED_TEMPLATE;
  process.env.TEST_TEMPLATE = shared ?? join(dataRoot, 'template');
  try {
    if (shared === undefined || !existsSync(shared)) await prepareTemplate(process.env.TEST_TEMPLATE);
    const work = new Run(options, queue, dataRoot, stopped);
    return await Promise.race([work.finish(), aborted(stopped).then(() => work.counts())]);
  } finally {
    await cleanUp();
    await removeDataRoot(dataRoot);
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

class Run {
  private readonly results: FileResult[] = [];
  private readonly leftOpen: string[] = [];
  private readonly began = performance.now();
  private readonly total: number;

  constructor(
    private readonly options: TestOptions,
    private readonly queue: string[],
    private readonly dataRoot: string,
    private readonly stopped: AbortSignal,
  ) {
    this.total = queue.length;
    if (options.results !== undefined) writeFileSync(options.results, '');
  }

  counts(): Counts {
    const { passed, failed, skipped } = totals(this.results);
    return { passed, failed: failed + this.leftOpen.length, skipped };
  }

  async finish(): Promise<Counts> {
    const { runners, seed, durations } = this.options;
    const lanes = Math.min(runners, this.total);
    const order = seed === undefined ? 'the slowest and the quickest first' : `in random order (--seed ${seed})`;
    print(`${this.total} test files, ${order}, ${lanes} side by side`);
    // The slow files wait for long, and start services of their own; the quick ones keep a processor busy. Half of the
    // runners begin with each, so that they always stand beside each other.
    const isQuick = (index: number) => lanes > 2 && index % 2 === 1;
    await Promise.all(
      Array.from({ length: lanes }, (_, index) =>
        this.work(`runner ${index + 1}`, () => (isQuick(index) ? this.queue.pop() : this.queue.shift())),
      ),
    );
    if (durations !== undefined) writeFileSync(durations, durationsJson(this.results));
    const failures = this.results.flatMap(({ tests }) => tests.filter(({ state }) => state === 'failed'));
    if (this.total > 1) print(`\n${slowestFiles(this.results)}`);
    if (failures.length > 0 && this.total > 1) print(`\nFailed:\n${failures.map(describeFailure).join('')}`);
    for (const sentence of this.leftOpen) print(`\n${sentence}`);
    print(`\n${((performance.now() - this.began) / 1000).toFixed(0)} s in all`);
    return this.counts();
  }

  private async work(name: string, next: () => string | undefined): Promise<void> {
    const lane = await Lane.start(name, this.dataRoot, print);
    this.stopped.addEventListener('abort', () => lane.kill(), { once: true });
    const { grep = null, verbose, results } = this.options;
    for (let file = next(); file !== undefined && !this.stopped.aborted; file = next()) {
      const result = await lane.run({ file, grep, forbidOnly: Boolean(process.env.CI) });
      this.results.push(result);
      if (results !== undefined) appendFileSync(results, resultLines(result));
      const position = `[${String(this.results.length).padStart(String(this.total).length)}/${this.total}]`;
      // A pattern leaves most files without a test: these are not printed.
      if (result.tests.length > 0) print(describeFile(result, position, verbose || this.total <= VERBOSE_UP_TO_FILES));
    }
    this.leftOpen.push(...(await lane.end()).map((sentence) => `${name}: ${sentence}`));
  }
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
