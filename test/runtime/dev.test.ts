import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { readIfThere } from '../../scripts/runtime/files.js';
import { identify } from '../../scripts/runtime/processes.js';
import type { RunJson } from '../../scripts/runtime/run-json.js';
import { root, testEnvironment } from '../support/environment.js';
import { freePort } from '../support/ports.js';
import { temporaryDataDir } from '../support/service.js';
import { until } from '../support/until.js';

const COPIED = ['package.json', 'package-lock.json', 'tsconfig.json', 'settings.ts'];
const COPIED_FOLDERS = ['api', 'workflows', 'activities', 'db', 'scripts', 'dist'];
const ANSWER = 'api/operations/health.routes.ts';

/** The sources and what was built of them, without the tests; packages and the Temporal command are the checkout's. */
function copyCheckout(to: string): void {
  mkdirSync(join(to, '.cache'), { recursive: true });
  for (const path of COPIED) cpSync(join(root, path), join(to, path));
  for (const path of COPIED_FOLDERS)
    cpSync(join(root, path), join(to, path), {
      recursive: true,
      filter: (from) => from !== join(root, 'dist', 'test'),
    });
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
  const temporal = join(root, '.cache', 'temporal');
  if (existsSync(temporal)) symlinkSync(temporal, join(to, '.cache', 'temporal'));
}

describe('npm run dev', function () {
  this.timeout(300_000);
  let checkout: string;
  let child: ChildProcess;
  let exit: Promise<[number | null]>;
  let output = '';
  let run: RunJson;
  let pristine: string;

  const current = () => JSON.parse(readFileSync(join(run.data_dir, 'run.json'), 'utf8')) as RunJson;
  const version = async () => {
    // While the API is being restarted nobody answers.
    const answer = await fetch(`${run.api}/api/health`).catch((fault: unknown) => {
      if (fault instanceof TypeError) return undefined;
      throw fault;
    });
    return answer && ((await answer.json()) as { version: string }).version;
  };
  const save = (path: string, text: string) => writeFileSync(join(checkout, path), text);
  const withVersion = (text: string) => pristine.replace('NODE_ENV, version })', `NODE_ENV, version: '${text}' })`);
  const said = (text: string, from: number) =>
    until(() => output.slice(from).includes(text), { timeout: 120_000, what: `"${text}"` });

  before(async () => {
    const dataDir = temporaryDataDir();
    checkout = join(dirname(dataDir), 'checkout');
    copyCheckout(checkout);
    pristine = readFileSync(join(checkout, ANSWER), 'utf8');
    expect(withVersion('saved'), 'the answer that is changed').not.to.equal(pristine);
    child = spawn(process.execPath, ['scripts/dev.mjs', '--inspect=0'], {
      cwd: checkout,
      // Its own: while the API is started again nobody holds it.
      env: testEnvironment({ DATA_DIR: dataDir, PORT: String(await freePort()) }),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    exit = once(child, 'exit') as Promise<[number | null]>;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    await until(() => child.exitCode !== null || output.includes('watching the sources'), {
      timeout: 240_000,
      what: 'the service to be ready',
    });
    expect(child.exitCode, output).to.equal(null);
    run = JSON.parse(readIfThere(join(dataDir, 'run.json')) ?? '') as RunJson;
  });
  after(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await exit;
    }
    rmSync(checkout, { recursive: true, force: true });
  });

  it('answers with the new code after a save of a route; everything else goes on', async () => {
    const before = current().pids;
    save(ANSWER, withVersion('saved once'));
    await until(async () => (await version()) === 'saved once', {
      timeout: 120_000,
      what: 'the new answer',
    });
    const { api, ...others } = current().pids;
    const { api: old, ...othersBefore } = before;
    expect(api).not.to.equal(old);
    expect(others).to.deep.equal(othersBefore);
  });

  it('goes on with the old processes while a file does not compile, and says where', async () => {
    const { pids } = current();
    const from = output.length;
    save(ANSWER, `${withVersion('never')}\nconst broken = ;\n`);
    await said(`${ANSWER}(`, from);
    await said('Expression expected', from);
    expect(await version()).to.equal('saved once');
    expect(current().pids).to.deep.equal(pids);
    // Also one that is started again: nothing of the broken file has come to dist.
    process.kill(pids.api!, 'SIGKILL');
    await said('api is back', from);
    expect(await version()).to.equal('saved once');
  });

  it('takes the code that compiles again, says why it does not start, and starts it when it is fixed', async () => {
    const from = output.length;
    save(ANSWER, `${withVersion('never')}\nthrow new Error('a fault at the start');\n`);
    await said('a fault at the start', from);
    save(ANSWER, withVersion('saved again'));
    await until(async () => (await version()) === 'saved again', {
      timeout: 120_000,
      what: 'the corrected answer',
    });
  });

  it('restarts the worker alone for an activity, and looks at the migrations for a change to them', async () => {
    const { pids } = current();
    const from = output.length;
    save(
      'activities/util/wakeable-timer.ts',
      `${readFileSync(join(checkout, 'activities/util/wakeable-timer.ts'), 'utf8')}\n// saved\n`,
    );
    await said('activities/util/wakeable-timer.ts: worker restarted in', from);
    expect(current().pids.worker).not.to.equal(pids.worker);
    expect(current().pids.api).to.equal(pids.api);
    const index = 'db/migrations/index.ts';
    save(index, `${readFileSync(join(checkout, index), 'utf8')}\n// saved\n`);
    await said('Schema is at', from);
    await said(`${index}: api and worker restarted in`, from);
  });

  it('lets a debugger in, to programs whose sources it finds', async () => {
    const log = readFileSync(join(run.data_dir, 'logs', 'api.log'), 'utf8');
    const port = [...log.matchAll(/Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)\//g)].at(-1)?.[1];
    const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { url: string }[];
    expect(target?.url).to.match(/\/dist\/api\/main\.js$/);
  });

  it('ends with everything that it started', async () => {
    const pids = Object.values(current().pids);
    child.kill('SIGINT');
    expect((await exit)[0], output).to.equal(0);
    expect(pids.filter((pid) => identify(pid) !== undefined)).to.deep.equal([]);
    expect(existsSync(join(run.data_dir, 'run.json'))).to.equal(false);
  });
});
