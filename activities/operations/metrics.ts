import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import { backlog } from '../../db/operations/backlog.queries.js';
import type { Backlog } from '../../db/operations/backlog.queries.js';
import type { Database } from '../../db/client/database.js';

/** Pending work in the database; each worker reports the same. */
const WAITING: Record<keyof Backlog, string> = {
  outbox_messages: 'Messages that wait for Temporal or the mail server',
  outbox_oldest_seconds: 'Age of the oldest of them',
  audit_unsigned_records: 'Audit records that no checkpoint covers yet',
  audit_unsigned_seconds: 'Age of the oldest of them',
  triggers_waiting: 'Triggers of capture systems that are not worked off yet',
  triggers_oldest_seconds: 'Age of the oldest of them',
  pushes_waiting: 'Results whose push failed and is retried automatically',
  pushes_failed: 'Results that are pushed again only when somebody asks',
  capture_breakers_open: 'Capture systems considered unavailable (breaker open or half open)',
  event_deliveries_waiting: 'Events that wait for their subscriber',
  override_requests_pending: 'Override requests that wait for an approver',
  log_archive_failing: 'Whether PostgreSQL cannot bring its log to where restores read it',
};

/** Records the outcome and duration of an activity, in seconds. */
export type Observe = (activity: string, outcome: 'completed' | 'failed', seconds: number) => void;

/** Measures every activity and local activity of a worker. */
export const activityMetrics =
  (observe: Observe): ActivityInterceptorsFactory =>
  (context) => ({
    inbound: {
      async execute(input, next) {
        const began = performance.now();
        let outcome: 'completed' | 'failed' = 'failed';
        try {
          const result: unknown = await next(input);
          outcome = 'completed';
          return result;
        } finally {
          observe(context.info.activityType, outcome, (performance.now() - began) / 1000);
        }
      },
    },
  });

export interface WorkerMetrics {
  observe: Observe;
  /** Takes the end of this worker's last turn of signing. */
  noteCheckpoints: (turn: 'made' | 'failed') => void;
  port: number;
  close: () => Promise<void>;
}

/**
 * Serves `/metrics` for Prometheus: activities, pending work in the database, and the process. @throws Error in one
 * sentence when the port is taken
 */
export async function serveWorkerMetrics(options: {
  host: string;
  port: number | 'auto';
  token: string | undefined;
  database: Database;
  log: Logger;
}): Promise<WorkerMetrics> {
  const prom = await import('prom-client');
  const registry = new prom.Registry();
  const registers = [registry];
  prom.collectDefaultMetrics({ register: registry });
  const duration = new prom.Histogram({
    name: 'activity_duration_seconds',
    help: 'Time of an activity, by type and outcome',
    labelNames: ['activity', 'outcome'],
    registers,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  const gauges = Object.entries(WAITING).map(
    ([name, help]) => [name as keyof Backlog, new prom.Gauge({ name, help, registers })] as const,
  );
  const checkpointsFailing = new prom.Gauge({
    name: 'audit_checkpoints_failing',
    help: 'Whether this worker could not sign every audit chain, or not keep the checkpoints, when it last tried',
    registers,
  });
  const text = async (): Promise<string> => {
    const waiting = await backlog(options.database);
    for (const [name, gauge] of gauges) gauge.set(waiting[name]);
    return registry.metrics();
  };
  const server = createServer((request, response) => {
    const status = request.url !== '/metrics' ? 404 : mayRead(request, options.token) ? 200 : 401;
    if (status !== 200) {
      response
        .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end(status === 404 ? 'Metrics are at /metrics.\n' : 'METRICS_TOKEN is needed as bearer token.\n');
      return;
    }
    text().then(
      (body) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(body),
      (fault: Error) => {
        options.log.warn({ fault: fault.name }, 'metrics: the database is away');
        response
          .writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '1' })
          .end('The database is unavailable.\n');
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault: NodeJS.ErrnoException) =>
      reject(
        new Error(
          `The worker's metrics cannot be served at ${options.host}:${options.port} ` +
            `(${fault.code ?? fault.message}): set ${settingToMend(fault)}.`,
          { cause: fault },
        ),
      ),
    );
    server.listen({ host: options.host, port: options.port === 'auto' ? 0 : options.port }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  options.log.info({ port }, 'metrics are served');
  return {
    port,
    observe: (activity, outcome, seconds) => {
      duration.observe({ activity, outcome }, seconds);
    },
    noteCheckpoints: (turn) => checkpointsFailing.set(turn === 'failed' ? 1 : 0),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const settingToMend = ({ code }: NodeJS.ErrnoException): string =>
  code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
    ? 'WORKER_METRICS_HOST to an address of this machine'
    : 'WORKER_METRICS_PORT to a free port, or to auto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const mayRead = (request: IncomingMessage, token: string | undefined): boolean =>
  token === undefined || timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${token}`));
