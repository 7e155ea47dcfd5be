import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { NODE_OPTIONS } from '../../scripts/runtime/node-part.js';
import { root, testEnvironment } from './environment.js';
import { compiled } from './program.js';
import { service } from './service.js';
import { payloadKeyOf } from './temporal.js';

export { freePort } from './ports.js';

export interface ApiProcess {
  url: string;
  pid: number;
  /** SIGTERM; answers the exit code. */
  stop: () => Promise<number | null>;
  kill: () => Promise<void>;
  output: () => string;
}

/**
 * The settings of an API over the shared service's servers. Its secrets are its own: tokens of one are no good at the
 * other.
 */
export async function apiEnvironment(overrides: Record<string, string> = {}): Promise<NodeJS.ProcessEnv> {
  const run = await service();
  return testEnvironment({
    DATABASE_URL: run.database_url,
    TEMPORAL_ADDRESS: run.temporal,
    TEMPORAL_NAMESPACE: run.temporal_namespace,
    TEMPORAL_TASK_QUEUE: run.temporal_task_queue,
    DATA_DIR: run.data_dir,
    JWT_SECRET: 'a signing secret of tests, 32 and more',
    SESSION_SECRET: 'a session secret of tests, 32 and more',
    DATACAPTURE_ENCRYPTION_KEY: '00'.repeat(16) + 'a5'.repeat(16),
    AUDIT_SIGNING_KEY: 'a signing key of tests for checkpoints',
    // What the one has sealed, the other opens.
    TEMPORAL_PAYLOAD_KEY: payloadKeyOf(run),
    ...overrides,
  });
}

const spawnApi = (env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, [...NODE_OPTIONS, compiled('api/main')], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return { child, output: () => text };
};

/** Starts a further API process over the shared service's servers, with settings of its own. */
export async function startApi(overrides: Record<string, string> = {}): Promise<ApiProcess> {
  const { child, output } = spawnApi(await apiEnvironment(overrides));
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const ready = once(child, 'message') as Promise<[{ ready: boolean; url: string }]>;
  const first = await Promise.race([ready, exit.then(() => undefined)]);
  if (!first) throw new Error(`the API did not start:\n${output()}`);
  return {
    url: first[0].url,
    pid: child.pid!,
    output,
    stop: async () => {
      child.kill('SIGTERM');
      return (await exit)[0];
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** An API that is to refuse to start. */
export async function failedApi(overrides: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const { child, output } = spawnApi(await apiEnvironment(overrides));
  // Its end, and all that it said: the streams may end after the process.
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output() };
}
