import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';
import { expect } from 'chai';
import { testEnvironment } from '../support/environment.js';
import { compiled, ran } from '../support/program.js';

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

/** A server that loads its hundreds of modules one by one starts a third slower. */
describe('the modules of a server', () => {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  const canTell = major > 22 || (major === 22 && minor >= 15);

  for (const program of ['api/main', 'activities/main'])
    it(`are loaded with ${program} and what it shares`, async function () {
      // Older versions of Node.js have no hooks in the same thread.
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
