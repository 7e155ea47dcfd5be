import { connect } from 'node:net';
import { withMetrics } from '../temporal.js';
import { sharedProbe } from '../util/shared-probe.js';
import type { Probe } from '../temporal.js';
import type { Dependencies } from '../dependencies.js';
import type { KnownWorkers } from '../../db/operations/worker-heartbeats.queries.js';
import { failingWorkflows } from './failing-workflows.service.js';
import { SILENT_SECONDS, workerStatuses } from './workers.service.js';
import { execute } from '../../db/client/query.js';
import { version } from '../http/version.js';

export interface Health {
  status: 'ok' | 'down' | 'not_configured';
  latency_ms?: number | null;
  detail?: string;
}

const PROBE_MS = 2_000;
const within = <T>(work: PromiseLike<T>, ms: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timed out')), ms);
    work.then(resolve, reject).then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
  });

/** Not configured where `probe` is undefined. */
function health(probe: Probe | undefined): Health {
  if (!probe) return { status: 'not_configured', latency_ms: null };
  return {
    status: probe.up ? 'ok' : 'down',
    latency_ms: probe.latencyMs,
    ...(probe.detail && { detail: probe.detail }),
  };
}

export const checkDatabase = sharedProbe(async ({ database }: Dependencies): Promise<Health> =>
  health(
    await withMetrics(PROBE_MS, async () => {
      await within(execute(database, 'select 1'), PROBE_MS);
    }),
  ),
);

export const checkRedis = sharedProbe(async ({ redis }: Dependencies): Promise<Health> =>
  health(
    redis &&
      (await withMetrics(PROBE_MS, async () => {
        await within(redis.ping(), PROBE_MS);
      })),
  ),
);

const MAIL_KEPT_MS = 5_000;
const MAIL_DOWN_KEPT_MS = 1_000;
/** A mail server refuses who connects to it too often, so it is not asked for each caller. */
const checkMail = sharedProbe(connectToMail, ({ status }) => (status === 'ok' ? MAIL_KEPT_MS : MAIL_DOWN_KEPT_MS));

/** Where the mail library connects to: its default ports, and an IPv6 address without the brackets of a URL. */
function mailServerOf(address: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(address);
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'smtps:' ? 465 : 587),
  };
}

/** The mail server sends a greeting on connection. */
async function connectToMail({ settings }: Dependencies): Promise<Health> {
  if (!settings.SMTP_URL) return health(undefined);
  const server = mailServerOf(settings.SMTP_URL);
  return health(
    await withMetrics(
      PROBE_MS,
      () =>
        new Promise((resolve, reject) => {
          const socket = connect({ ...server, timeout: PROBE_MS });
          const end = (error?: Error) => {
            socket.destroy();
            if (error) reject(error);
            else resolve();
          };
          socket.once('connect', () => end());
          socket.once('timeout', () => end(new Error('timed out')));
          socket.once('error', end);
        }),
    ),
  );
}

export interface WorkerHealth extends Health {
  /** The number of known processes, and how many of them have no recent heartbeat. */
  known?: number;
  silent?: number;
}

/**
 * Down when no worker polls Temporal, or none has a recent heartbeat. Temporal itself notices only after a minute.
 * While the database is unavailable, heartbeats are unknown: Temporal's answer counts.
 */
async function checkWorker(services: Dependencies): Promise<WorkerHealth> {
  const [asks, seen] = await Promise.all([services.temporal.probeWorker(), workerStatuses(services)]);
  if (!seen || seen.secondsSinceSign === null) return health(asks);
  const counts = { known: seen.known, silent: seen.silent.length };
  if (asks.up && seen.secondsSinceSign > SILENT_SECONDS)
    return {
      status: 'down',
      latency_ms: asks.latencyMs,
      ...counts,
      detail: `no worker has shown a sign of life for ${Math.round(seen.secondsSinceSign)} seconds`,
    };
  return { ...health(asks), ...counts, ...(asks.up && counts.silent > 0 && { detail: silence(seen) }) };
}

const silence = ({ known, silent: [longest, ...others] }: KnownWorkers): string =>
  `${others.length + 1} of ${known} workers: no sign of life for ${Math.round(longest!.seconds)} seconds`;

/**
 * Checks all dependencies at once. `down`: a required one is down; `degraded`: an optional one, or one of several
 * workers.
 */
export const checkAll = sharedProbe(async (services: Dependencies) => {
  const { settings, temporal } = services;
  const [database, server, worker, redis, mail] = await Promise.all([
    checkDatabase(services),
    temporal.probeServer(),
    checkWorker(services),
    checkRedis(services),
    checkMail(services),
  ]);
  const byType = database.status === 'ok' ? await failingWorkflows(services) : undefined;
  const failing = [...(byType?.values() ?? [])].reduce((sum, n) => sum + n, 0);
  const troubles = [...(worker.detail ? [worker.detail] : []), `workflow tasks fail again and again: ${failing}`];
  const dependencies = {
    database,
    temporal: health(server),
    redis,
    worker: {
      ...worker,
      ...(worker.status === 'ok' && failing > 0 && { detail: troubles.join('; ') }),
    },
    mail,
  };
  const down = (name: keyof typeof dependencies) => dependencies[name].status === 'down';
  const status =
    down('database') || down('temporal') || down('worker')
      ? 'down'
      : down('redis') || down('mail') || (worker.silent ?? 0) > 0
        ? 'degraded'
        : 'ok';
  return { status, environment: settings.NODE_ENV, version, dependencies };
});
