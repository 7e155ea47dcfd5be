import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './api-process.js';
import { isThere } from './program.js';
import { until } from './until.js';

/** A Redis of a test's own, on a free port, that keeps nothing. */
export interface RedisServer {
  url: string;
  /** Begins, or begins again, at the same port and empty. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** It takes connections and answers nothing, until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** What it holds. */
  keys(): Promise<string[]>;
}

/** Undefined where redis-server is not installed: what it would show is then pending, not passed. */
export async function redisServer(): Promise<RedisServer | undefined> {
  if (!(await isThere('redis-server'))) return undefined;
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const asked = async <T>(question: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
    // Why it failed comes with the rejected call as well.
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await question(redis);
    } finally {
      redis.disconnect();
    }
  };
  return {
    url,
    start: async () => {
      child = spawn(
        'redis-server',
        ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no'],
        { stdio: 'ignore' },
      );
      await until(() => asked((redis) => redis.ping()), { what: 'Redis to answer' });
    },
    kill: async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    freeze: () => {
      child?.kill('SIGSTOP');
    },
    thaw: () => {
      child?.kill('SIGCONT');
    },
    keys: () => asked((redis) => redis.keys('*')),
  };
}
