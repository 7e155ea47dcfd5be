import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { startThread } from '../../db/client/start-thread.js';
import { root, testEnvironment } from '../support/environment.js';
import { compiled, ran } from '../support/program.js';
import { checkoutFiles } from '../support/sources.js';

/** Tells each file of dist that a program loads, before it loads it. */
const TELL = `
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load(url, context, next) {
    const own = /\\/dist\\/(.*)$/.exec(url);
    if (own && !url.includes('/node_modules/')) writeSync(1, 'loads ' + own[1] + '\\n');
    return next(url, context);
  } });`;

/** Writes a trace of each line of the standard error before it. */
const TRACE = `
  import { writeSync } from 'node:fs';
  process.stderr.write = () => writeSync(1, new Error('a line').stack + '\\n');`;

/** Tells each file that a thread loads, and a trace of where it first uses its port. */
const TELL_IN_THREAD = `
  import * as module from 'node:module';
  import { parentPort } from 'node:worker_threads';
  const tell = parentPort.postMessage.bind(parentPort);
  module.registerHooks?.({ load(url, context, next) {
    if (url.startsWith('file:')) tell({ loads: url });
    return next(url, context);
  } });
  for (const name of ['on', 'postMessage'])
    parentPort[name] = () => tell({ trace: new Error('a line').stack });`;

/** By what starts them, without an extension: `startThread('./thread', import.meta.url, …)`. */
const threads = ['api', 'activities', 'db', 'workflows'].flatMap(checkoutFiles).flatMap((path) => {
  const names = readFileSync(join(root, path), 'utf8').matchAll(/'\.\/([\w.-]+)', import\.meta\.url/g);
  return [...names].map(([, name]) => join(dirname(path), name!));
});

/** Starts it without its task, which it fails at or waits for. */
async function startOf(thread: string): Promise<{ loaded: string[]; trace: string }> {
  const program = startThread(`./${thread}`, pathToFileURL(compiled('any')).href, {
    execArgv: [`--import=data:text/javascript,${encodeURIComponent(TELL_IN_THREAD)}`],
  });
  const loaded: string[] = [];
  try {
    return await new Promise((done, fail) => {
      program.on('message', (told: { loads: string } | { trace: string }) => {
        if ('loads' in told) loaded.push(told.loads);
        else done({ loaded, trace: told.trace });
      });
      program.on('error', (fault: Error) => {
        done({ loaded, trace: fault.stack! });
      });
      program.on('exit', (code) => {
        fail(new Error(`the thread ended with code ${code}`));
      });
    });
  } finally {
    await program.terminate();
  }
}

const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
/** Older versions of Node.js have no hooks in the same thread. */
const canTell = major > 22 || (major === 22 && minor >= 15);

/** A thread's start is part of the request that needs it. */
describe('the modules of a thread', () => {
  it('are those of the threads that the sources start', () => {
    expect(threads).to.include.members(['api/imports/files/csv-thread', 'activities/simulation/thread']);
  });

  for (const thread of threads) {
    it(`are loaded with ${thread}`, async function () {
      if (!canTell) this.skip();
      expect((await startOf(thread)).loaded).to.deep.equal([pathToFileURL(compiled(thread)).href]);
    });

    it(`are named by their sources in the traces of ${thread}`, async () => {
      const { trace } = await startOf(thread);
      expect(trace).to.match(/^ +at .*\/(api|activities|workflows)\/\S+\.ts:\d+:\d+\)?$/m);
      expect(trace).to.not.include(compiled(thread));
    });
  }
});

/** A server that loads its hundreds of modules one by one starts a third slower. */
describe('the modules of a server', () => {
  for (const program of ['api/main', 'activities/main'])
    it(`are loaded with ${program} and what it shares`, async function () {
      if (!canTell) this.skip();
      // Without settings it ends as soon as it has loaded everything.
      const { output } = await ran(
        [`--import=data:text/javascript,${encodeURIComponent(TELL)}`, compiled(program)],
        testEnvironment(),
      );
      const loaded = [...output.matchAll(/^loads (.*)$/gm)].map(([, file]) => file!);
      expect(loaded).to.include(`${program}.js`);
      expect(loaded.filter((file) => file !== `${program}.js` && !/^chunks\/[\w.-]+\.js$/.test(file))).to.deep.equal(
        [],
      );
    });

  for (const program of ['api/main', 'activities/main'])
    it(`are named by their sources in the traces of ${program}`, async () => {
      // Without settings it says so and ends: where it says so, a trace begins.
      const { output } = await ran(
        [`--import=data:text/javascript,${encodeURIComponent(TRACE)}`, compiled(program)],
        testEnvironment(),
      );
      expect(output).to.match(new RegExp(`^ +at \\S.*/${program}\\.ts:\\d+:\\d+\\)?$`, 'm'));
      expect(output).to.not.match(new RegExp(`/dist/${program}\\.js:`));
    });

  it('are found where their sources are by the traces of faults', () => {
    const lines = readFileSync(compiled('api/main'), 'utf8').split('\n');
    const map = new SourceMap(JSON.parse(readFileSync(`${compiled('api/main')}.map`, 'utf8')) as SourceMapPayload);
    const functions = lines.flatMap((line, row) => {
      const name = /^(?:async )?function (\w+)\(/.exec(line)?.[1];
      return name === undefined ? [] : [{ name, row, column: line.indexOf(name) }];
    });
    expect(functions.length).to.be.greaterThan(500);
    const sources = new Map<string, string[]>();
    const lost = functions.filter(({ name, row, column }) => {
      const found = map.findEntry(row, column);
      if (!('originalSource' in found)) return true;
      // Packages have functions without a name, which get one.
      if (found.originalSource.includes('/node_modules/')) return false;
      const file = resolve(dirname(compiled('api/main')), found.originalSource);
      if (!sources.has(file)) sources.set(file, readFileSync(file, 'utf8').split('\n'));
      // Of two functions of one name in different modules, the second one gets a number.
      return !sources.get(file)![found.originalLine]!.includes(name.replace(/\$\d+$/, ''));
    });
    expect(lost).to.deep.equal([]);
  });
});
