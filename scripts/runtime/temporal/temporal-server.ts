import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { plainEnvironment } from '../environments.js';
import type { PartPlan } from '../part.js';
import { connectableHost } from '../../../settings.js';
import { searchAttributes } from '../../../workflows/search-attributes.js';

const run = promisify(execFile);

export interface TemporalServer {
  cli: string;
  host: string;
  port: number;
  uiPort: number;
  file: string;
  namespace: string;
  retentionDays: number;
  log: string;
  release: () => Promise<void>;
  /** The codec endpoint of its Web UI. */
  codec?: string;
  /** Dynamic configuration, besides what is always set: `name=value`. */
  configured?: readonly string[];
}

/**
 * Each of the server's services reads all namespaces every two seconds by default, though only a restart of ours
 * changes any; one that somebody makes by hand is found at once, by its name.
 */
const ALWAYS = ['system.enableActivityEagerExecution=true', 'system.namespaceCacheRefreshInterval="10s"'];
const ONE_PARTITION = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'];

/**
 * By default a task queue has four partitions, for several machines to share it; in one process they only hand tasks
 * and pollers on to each other, which was a third of what an idle server did. A file that was made with four keeps
 * them: a task in a partition that nobody reads would wait for ever.
 */
function partitionsOf(file: string): string[] {
  const mark = `${file}-one-partition`;
  if (!existsSync(file)) writeFileSync(mark, '');
  return existsSync(mark) ? ONE_PARTITION : [];
}

/** The embedded Temporal server with its Web UI. */
export function temporalPart(server: TemporalServer): PartPlan {
  const args = [
    'server',
    'start-dev',
    '--ip',
    server.host,
    '--port',
    String(server.port),
    '--ui-ip',
    server.host,
    '--ui-port',
    String(server.uiPort),
    ...(server.codec === undefined ? [] : ['--ui-codec-endpoint', server.codec]),
    '--db-filename',
    server.file,
    '--namespace',
    server.namespace,
    '--log-level',
    'warn',
    // WAL: without it a burst stalls for seconds. NORMAL keeps every acknowledged step through a crash of any process;
    // only a power cut may lose the last ones, and their facts are in PostgreSQL, from which participants' workflows
    // are restarted. FULL would make each step wait for the disk twice.
    '--sqlite-pragma',
    'journal_mode=WAL',
    '--sqlite-pragma',
    'synchronous=NORMAL',
    ...[...ALWAYS, ...partitionsOf(server.file), ...(server.configured ?? [])].flatMap((value) => [
      '--dynamic-config-value',
      value,
    ]),
    ...Object.entries(searchAttributes).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ];
  return {
    name: 'temporal',
    log: server.log,
    before: server.release,
    spawn: (output) =>
      spawn(server.cli, args, { detached: true, env: plainEnvironment(), stdio: ['ignore', output, output] }),
    ready: (_child: ChildProcess, cancelled) => servesWithRetention(server, cancelled),
    readyWithinSeconds: 60,
    stopSignal: 'SIGTERM',
    graceSeconds: 10,
  };
}

/**
 * By default the development server deletes closed workflows after a day; a successful change proves that it serves.
 */
async function servesWithRetention(server: TemporalServer, cancelled: AbortSignal): Promise<void> {
  const args = [
    'operator',
    'namespace',
    'update',
    '--address',
    `${connectableHost(server.host)}:${server.port}`,
    '--namespace',
    server.namespace,
    '--retention',
    `${server.retentionDays * 24}h`,
  ];
  // Each run of the command costs much more processor time than this.
  while (!(await accepts(server))) {
    cancelled.throwIfAborted();
    await sleep(100);
  }
  let fault: unknown;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    cancelled.throwIfAborted();
    try {
      await run(server.cli, args, { timeout: 5000, signal: cancelled });
      return;
    } catch (failure) {
      fault = failure;
      await sleep(100);
    }
  }
  throw fault;
}

/** Whether something listens on the port. */
const accepts = ({ host, port }: Pick<TemporalServer, 'host' | 'port'>): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: connectableHost(host).replaceAll(/[[\]]/g, ''), port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
