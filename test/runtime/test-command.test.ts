import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { selectFiles, shuffled, slowestFirst } from '../../scripts/test/files.js';
import type { FileResult, RunFile, TestFailed } from '../../scripts/test/messages.js';
import { USAGE, readOptions } from '../../scripts/test/options.js';
import { root } from '../support/environment.js';
import { compiled, ran } from '../support/program.js';

describe('npm test', () => {
  describe('the command', () => {
    const refusals: [args: string[], sentence: string][] = [
      [['--runners', '0'], '--runners takes a whole number from 1.'],
      [['--seed', 'x'], '--seed takes a whole number from 0.'],
      [['--reporter', 'dot'], "Unknown option '--reporter'"],
      [['test/no-such'], 'test/no-such names no test'],
      [['api'], 'api names no test'],
    ];
    for (const [args, sentence] of refusals)
      it(`refuses ${args.join(' ')} in a sentence and ends with the count`, async () => {
        const { code, output } = await ran(['scripts/test.mjs', ...args], process.env);
        expect(code).to.equal(1);
        expect(output)
          .to.include(sentence)
          .and.not.match(/^\s+at /m);
        expect(output).to.match(/^0 passed, 1 failed$/m);
      });

    it('says how it is used, which is no test run', async () => {
      const { code, output } = await ran(['scripts/test.mjs', '--help'], process.env);
      expect([code, output]).to.deep.equal([0, `${USAGE}\n`]);
    });

    it('takes files, folders and names without an extension, each once', () => {
      const files = selectFiles(root, ['test/domain', 'test/domain/time', 'test/domain/time.test.ts']);
      expect(files)
        .to.include('test/domain/time.test.ts')
        .and.to.deep.equal([...new Set(files)]);
      expect(files.every((file) => file.startsWith('test/domain/'))).to.equal(true);
    });

    it('finds every test file, and each has been compiled', () => {
      const all = selectFiles(root, []);
      expect(all).to.include.members(['test/demo.test.ts', 'test/runtime/test-command.test.ts']);
      expect(all.filter((file) => !existsSync(compiled(file.replace(/\.ts$/, ''))))).to.deep.equal([]);
    });

    it('gives the same order for the same seed, another for another, and loses no file', () => {
      const all = selectFiles(root, []);
      expect(shuffled(all, 7)).to.deep.equal(shuffled([...all].reverse(), 7));
      expect(shuffled(all, 8)).not.to.deep.equal(shuffled(all, 7));
      for (const order of [shuffled(all, 7), slowestFirst(root, all)]) expect([...order].sort()).to.deep.equal(all);
    });

    it('reads its options', () => {
      expect(readOptions(['-g', 'x', '--runners', '2', '--seed', '5', '--verbose', 'test/api'])).to.deep.equal({
        paths: ['test/api'],
        grep: 'x',
        runners: 2,
        seed: 5,
        durations: undefined,
        results: undefined,
        verbose: true,
      });
    });
  });

  describe('a runner', () => {
    const children: ChildProcess[] = [];
    after(() => {
      for (const child of children) child.kill('SIGKILL');
    });
    const start = (): ChildProcess => {
      const child = fork(compiled('scripts/test/runner'), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      children.push(child);
      return child;
    };
    const order = (name: string): RunFile => ({
      file: `test/runtime/runner-files/${name}.ts`,
      grep: null,
      forbidOnly: true,
    });
    const run = async (child: ChildProcess, name: string): Promise<{ result: FileResult; failed: string[] }> => {
      const failed: string[] = [];
      const result = new Promise<FileResult>((resolve) => {
        child.on('message', (message: FileResult | TestFailed) => {
          if ('failed' in message) failed.push(message.failed);
          else resolve(message);
        });
      });
      child.send(order(name));
      return { result: await result, failed };
    };

    it('tells what became of each test, and how long set-up and waiting took', async () => {
      const child = start();
      const { result, failed } = await run(child, 'mixed');
      const states = Object.fromEntries(result.tests.map(({ path, state }) => [path.join(' › '), state]));
      expect(states).to.deep.equal({
        'mixed › passes': 'passed',
        'mixed › fails': 'failed',
        'mixed › is skipped': 'skipped',
        'mixed › waits': 'passed',
        'mixed › fails by a promise that nobody handles': 'failed',
      });
      expect(failed).to.deep.equal(['mixed › fails', 'mixed › fails by a promise that nobody handles']);
      const [fault, unhandled] = result.tests.filter(({ state }) => state === 'failed').map((test) => test.fault);
      expect(fault)
        .to.include('41')
        .and.to.include('42')
        .and.to.match(/test\/runtime\/runner-files\/mixed\.ts:\d+/);
      expect(unhandled).to.include('nobody handles this');
      expect(result.setUpMs).to.be.at.least(90);
      expect(result.waitingMs).to.be.at.least(140);
      expect(result.ms).to.be.at.least(result.waitingMs);
      // What is open is the channel alone.
      child.disconnect();
      expect((await once(child, 'exit'))[0]).to.equal(0);
    });

    it('counts a file that does not load as a failure, and goes on with the next', async () => {
      const child = start();
      const { result } = await run(child, 'broken');
      expect(result.tests.map(({ state, fault }) => [state, fault?.split('\n')[0]])).to.deep.equal([
        ['failed', 'Error: this file does not load'],
      ]);
      expect((await run(child, 'mixed')).result.tests).to.have.length(5);
    });

    it('ends with a file that ends its process, which the command counts as a failure', async () => {
      const child = start();
      child.send(order('crashes'));
      expect((await once(child, 'exit'))[0]).to.equal(3);
    });

    it('is kept alive by what a test leaves open', async () => {
      const child = start();
      expect((await run(child, 'left-open')).result.tests.map(({ state }) => state)).to.deep.equal(['passed']);
      child.disconnect();
      const outcome = await Promise.race([
        once(child, 'exit').then(() => 'ended'),
        // It is to be seen that nothing happens: a runner without open handles ends within milliseconds.
        new Promise<string>((resolve) => setTimeout(() => resolve('alive'), 1500)),
      ]);
      expect(outcome).to.equal('alive');
    });
  });
});
