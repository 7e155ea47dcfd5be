import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readIfThere } from '../../scripts/runtime/files.js';
import type { SupervisorRecord } from '../../scripts/runtime/lock.js';
import { end, gone, identify, signal } from '../../scripts/runtime/processes.js';
import type { RunJson } from '../../scripts/runtime/run-json.js';
import { root, testEnvironment } from './environment.js';
import { freePort } from './ports.js';
import { copyTemplate } from './template.js';
import { until } from './until.js';

export type { RunJson };
export { until };

/** A service that a test has started for itself. */
export interface Service {
  /** As written when it became ready. */
  run: RunJson;
  dataDir: string;
  /** run.json as it is now: pids follow restarts. */
  current(): RunJson;
  /** Everything that the supervisor has printed. */
  output(): string;
  /** As Ctrl-C does; answers the exit code. The data stay until the tests are over. */
  stop(): Promise<number | null>;
  /** SIGKILL, to the supervisor alone or to everything. */
  kill(what: 'supervisor' | 'everything'): Promise<void>;
}

const running = new Set<ChildProcess>();
const folders: string[] = [];

/** A new data folder outside the checkout; removed when the tests are over. */
export function temporaryDataDir(): string {
  const folder = temporaryFolder('research-assessment-test-', process.env.TEST_DATA_ROOT ?? tmpdir());
  // As root, PostgreSQL runs as another user and must be able to pass through.
  chmodSync(folder, 0o711);
  return join(folder, 'data');
}

/** A new folder, removed when the tests are over: with mocha after each file of `npm test`. */
export function temporaryFolder(prefix: string, within: string): string {
  const folder = mkdtempSync(join(within, prefix));
  folders.push(folder);
  return folder;
}

/**
 * Runs `npm start`'s program to its end, for starts that are to fail.
 * @param command as `npm start` runs it, unless told otherwise
 */
export async function failedStart(
  overrides: Record<string, string>,
  command: [string, ...string[]] = START,
): Promise<{ code: number | null; output: string; seconds: number }> {
  const began = performance.now();
  const { child, output } = spawnSupervisor(testEnvironment({ DATA_DIR: temporaryDataDir(), ...overrides }), command);
  // Its end, and all that it said: the streams may end after the process.
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output(), seconds: (performance.now() - began) / 1000 };
}

/**
 * Starts a whole service of the test's own, on free ports. Each costs seconds: most tests share `service()`.
 * @param overrides settings; with an earlier DATA_DIR it continues where that service stopped
 * @param options fresh: it makes its database and secrets itself, as on a new machine
 */
export async function startService(
  overrides: Record<string, string> = {},
  { fresh = false }: { fresh?: boolean } = {},
): Promise<Service> {
  const dataDir = overrides.DATA_DIR ?? temporaryDataDir();
  if (overrides.DATA_DIR === undefined && !fresh) copyTemplate(dataDir, overrides);
  // The servers choose others where somebody takes theirs before they start, and after a crash; the API does not.
  const PORT = overrides.PORT ?? String(await freePort());
  const { child, output } = spawnSupervisor(
    testEnvironment({ ...onOtherTemporal(dataDir), ...overrides, PORT, DATA_DIR: dataDir }),
  );
  const file = join(dataDir, 'run.json');
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as RunJson;
  const exit = once(child, 'exit') as Promise<[number | null]>;
  let ended = false;
  exit.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  const run = await until(
    () => {
      if (ended) return 'ended';
      const text = readIfThere(file);
      const found = text === undefined ? undefined : (JSON.parse(text) as RunJson);
      // A file of a service that was killed is no sign of this one.
      return found?.pids.supervisor === child.pid ? found : undefined;
    },
    { timeout: 120_000, what: 'the service to be ready' },
  ).catch((fault: Error) => {
    child.kill('SIGTERM');
    throw new Error(`${fault.message}\n${output()}`);
  });
  if (run === 'ended') throw new Error(`the service did not start:\n${output()}`);
  const service: Service = {
    run,
    dataDir,
    output,
    current: read,
    stop: async () => {
      child.kill('SIGINT');
      const [code] = await exit;
      return code;
    },
    kill: async (what) => {
      const { pids } = read();
      const victims = Object.entries(pids)
        .filter(([name]) => what === 'everything' || name === 'supervisor')
        .map(([, pid]) => identify(pid));
      // The supervisor first: otherwise it would start again what is killed next.
      for (const victim of victims) if (victim) signal(victim.pid, 'SIGKILL');
      await exit;
      for (const victim of victims) if (victim) await gone(victim, 5);
    },
  };
  return service;
}

/**
 * With TEST_TEMPORAL_ADDRESS tests and benches work on that Temporal server (`npm run temporal:postgres`) instead of
 * the embedded one, each data folder in a namespace of its own.
 */
function onOtherTemporal(dataDir: string): Record<string, string> {
  const address = process.env.TEST_TEMPORAL_ADDRESS;
  return address
    ? {
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: `test-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`,
      }
    : {};
}

let shared: Promise<RunJson> | undefined;

/**
 * The service that all tests share: the one that `npm test` has started, or, where a test file is run on its own, one
 * that is started now and stopped at the end.
 */
export function service(): Promise<RunJson> {
  const known = process.env.TEST_RUN_JSON;
  shared ??= known
    ? Promise.resolve(JSON.parse(readFileSync(known, 'utf8')) as RunJson)
    : startService().then(({ run }) => run);
  return shared;
}

const START: [string, ...string[]] = [process.execPath, 'scripts/start.mjs'];

function spawnSupervisor(env: NodeJS.ProcessEnv, [command, ...args] = START) {
  // Detached, so that Ctrl-C in the terminal does not stop it in the middle of a test; the channel's end does, when
  // the tests themselves are killed.
  const child = spawn(command, args, { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return { child, output: () => text };
}

/** Stops what tests have left running and removes their folders. */
export async function cleanUp(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }),
  );
  await Promise.all(folders.splice(0).map(removeDataRoot));
}

/**
 * Removes a folder of test data, after what still runs on it (of a test run that was killed) has been ended.
 * @param folder holds one data folder or several, each possibly one level deeper
 */
export async function removeDataRoot(folder: string): Promise<void> {
  for (const dataDir of dataDirsIn(folder)) {
    const text = readIfThere(join(dataDir, 'supervisor.json'));
    if (text !== undefined) {
      const { supervisor, parts } = JSON.parse(text) as SupervisorRecord;
      await end(supervisor, [
        ['SIGTERM', 30],
        ['SIGKILL', 5],
      ]);
      for (const part of Object.values(parts)) await end(part, [['SIGKILL', 5]]);
    }
    // As root the database may lie elsewhere, with a link to it here.
    const database = join(dataDir, 'postgres');
    try {
      const real = realpathSync(database);
      if (real !== database && !real.startsWith(realpathSync(dataDir)))
        rmSync(dirname(real), { recursive: true, force: true });
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOENT') throw fault;
    }
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

function dataDirsIn(folder: string): string[] {
  const inside = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
  const deeper = inside.filter((path) => /research-assessment-test-[^/]*$/.test(path));
  return [...inside, ...deeper.map((path) => join(path, 'data'))].filter((path) => !deeper.includes(path));
}

// Under mocha everything ends with the tests, no matter who has started it. Registered once: modules are loaded once.
if (typeof after === 'function') {
  after('services of the tests are stopped', async function () {
    this.timeout(120_000);
    await cleanUp();
  });
}
