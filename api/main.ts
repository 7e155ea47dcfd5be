import '../db/client/process/traces.js';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { withStudyScope } from '../db/client/transaction.js';
import { followClock } from '../db/client/clock.js';
import { openConnections, openDatabase } from '../db/client/knex.js';
import { logSerializers } from '../db/client/process/serialize-error.js';
import { assertLatestRevision } from '../db/migrate.js';
import { sweepKeys } from '../db/operations/idempotency.queries.js';
import { sweepPoints } from '../db/operations/rate-limits.queries.js';
import { sweepTrials } from '../db/studies/policy-trials.queries.js';
import { SettingsError, readSettings } from '../settings.js';
import { MessageSigning } from './anchor/message-signing.js';
import type { Settings } from '../settings.js';
import { createAnchorClient } from '../workflows/client.js';
import { jwtSecret } from './http/security/tokens.js';
import { RequestMetrics } from './operations/metrics/requests.js';
import { Printer } from './reports/pdf/printer.js';
import { assertDependencies } from './readiness.js';
import { openRedis, rateLimits } from './http/rate-limits.js';
import { ReportCache } from './reports/document/cache.js';
import { StudyTallies } from './reports/study-tallies.js';
import { Drawing } from './reports/document/drawing.js';
import { KeptDocuments } from './reports/kept-documents.js';
import { routesOf } from './routes.js';
import { listen } from './server.js';
import type { Dependencies } from './dependencies.js';
import { Temporal } from './temporal.js';
import { databaseSentence } from '../db/client/connection/driver-faults.js';

const SWEEP_MS = 3_600_000;
/** A request without a connection after this time is refused with a retry hint: a growing queue helps nobody. */
const ACQUIRE_MS = 5_000;
// The first requests of a burst outlive the engine's young generation, which is small at first. The engine then
// allocates the rows of later answers in the old generation, which needs repeated full collections: a fifth of a list's
// processor time, and 100 MB.
setFlagsFromString('--no-allocation-site-pretenuring');
/** Database connections that are open before a burst of requests. */
const minConnections = ({ DATABASE_POOL_MAX }: Pick<Settings, 'DATABASE_POOL_MAX'>): number =>
  Math.min(10, DATABASE_POOL_MAX);
const LOG_BYTES = 8_192,
  LOG_MS = 200;

/** Creates the handlers' dependencies. @throws Error in one sentence naming the missing setting */
async function openServices(settings: Settings, draining: AbortSignal): Promise<Dependencies> {
  jwtSecret(settings);
  const missing = (['DATABASE_URL', 'TEMPORAL_ADDRESS'] as const).filter((name) => settings[name] === undefined);
  if (settings.DATABASE_URL === undefined || missing.length > 0)
    throw new SettingsError(
      missing.map((name) => `${name} is not set: name the server ("npm start" sets it for the embedded one)`),
    );
  const log = pino(
    {
      level: settings.LOG_LEVEL,
      base: { process: 'api' },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: logSerializers,
    },
    gathered(),
  );
  const database = openDatabase({
    url: settings.DATABASE_URL,
    appPassword: settings.DATABASE_APP_PASSWORD,
    poolMax: settings.DATABASE_POOL_MAX,
    poolMin: minConnections(settings),
    name: 'api',
    acquireMs: ACQUIRE_MS,
    // Half of the timeout to detect it, and half to probe it.
    muteMs: settings.REQUEST_TIMEOUT_SECONDS * 500,
    limits: { lockMs: settings.REQUEST_TIMEOUT_SECONDS * 1000, statementMs: settings.STATEMENT_TIMEOUT_SECONDS * 1000 },
  });
  const redis = settings.REDIS_URL
    ? await openRedis(settings.REDIS_URL, (error) =>
        log.warn({ code: (error as { code?: unknown }).code }, 'redis is not reached'),
      )
    : undefined;
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  const tracing =
    endpoint === undefined ? undefined : (await import('./tracing.js')).traceApi(endpoint, settings.OTEL_SERVICE_NAME);
  const temporal = new Temporal(settings, tracing?.client);
  const anchors = createAnchorClient(temporal.unchecked, {
    taskQueue: settings.TEMPORAL_TASK_QUEUE,
    timeoutSeconds: settings.REQUEST_TIMEOUT_SECONDS,
  });
  const metrics = new RequestMetrics();
  const printer = new Printer({ path: settings.CHROMIUM_PATH, cacheDir: join(process.cwd(), '.cache'), log });
  const tallies = new StudyTallies(settings.VISIT_COUNTS_CHECK_SECONDS * 1000, (study) => {
    metrics.tallyDifferences += 1;
    log.error({ study_id: study }, 'kept counts of visits differed from the visits; they were counted again');
  });
  const printing = { database, drawing: new Drawing(), reports: new ReportCache(), tallies, printer };
  return {
    settings,
    redis,
    temporal,
    anchors,
    signing: new MessageSigning(database, settings),
    rateLimits: rateLimits(settings, database, redis),
    metrics,
    ...printing,
    documents: new KeptDocuments({ ...printing, log }),
    log,
    tracing,
    draining,
  };
}

/**
 * Standard output, written a few times a second: with a write for each line, a burst of requests spends more on its
 * access log than on its routes. Without a line there is no timer: the logger's own flushes an empty buffer, too, by
 * another thread, which was most of what an idle process did.
 */
function gathered(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false });
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  const pass = () => {
    clearTimeout(timer);
    timer = undefined;
    output.write(lines);
    lines = '';
  };
  process.on('exit', () => {
    output.flushSync();
    if (lines !== '') pino.destination({ dest: 1, sync: true }).write(lines);
  });
  return {
    write: (line) => {
      lines += line;
      if (lines.length >= LOG_BYTES) pass();
      else timer ??= setTimeout(pass, LOG_MS).unref();
    },
  };
}

/**
 * Loads the settings. @throws SettingsError; in production it also names servers that do not answer, so that one start
 * reports every problem
 */
async function usable(draining: AbortSignal): Promise<Settings> {
  try {
    return readSettings(process.env, 'api');
  } catch (fault) {
    if (!(fault instanceof SettingsError) || !fault.read?.production) throw fault;
    // Invalid settings serve no requests, but suffice for checking the servers.
    const asked = { ...fault.read, JWT_SECRET: fault.read.JWT_SECRET ?? 'none' };
    const further = await openServices(asked, draining)
      .then(assertDependencies)
      .then(
        () => [],
        (other: unknown) => (other instanceof SettingsError ? other.faults : [databaseSentence(other as Error)]),
      );
    throw new SettingsError([...fault.faults, ...further]);
  }
}

/**
 * Before its first full collection the engine lets the old generation grow without limit, afterwards to a multiple of
 * the memory in use: a long import's portions would stay. So one collection runs before the first request.
 */
function clearedEarly(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

async function main(): Promise<void> {
  const draining = new AbortController();
  const services = await openServices(await usable(draining.signal), draining.signal);
  const { log, database } = services;
  if (services.settings.production) await assertDependencies(services);
  else await assertLatestRevision(database);
  const stopClock = await followClock(database, (fault) =>
    log.warn({ err: fault }, 'the time was not asked of the database'),
  );
  clearedEarly();
  const { url, drain } = await listen(services, routesOf(services.settings));
  const sweep = setInterval(() => {
    sweepKeys(database).catch((fault: unknown) => log.warn({ err: fault }, 'old idempotency keys were not removed'));
    sweepPoints(database).catch((fault: unknown) =>
      log.warn({ err: fault }, 'old counts of requests were not removed'),
    );
    withStudyScope(database, '*', ({ tx }) => sweepTrials(tx)).catch((fault: unknown) =>
      log.warn({ err: fault }, 'old dry runs were not removed'),
    );
    services.documents.sweep().catch((fault: unknown) => log.warn({ err: fault }, 'old documents were not removed'));
  }, SWEEP_MS);
  services.documents.watch();
  log.info({ url }, 'listening');
  process.send?.({ ready: true, url });
  // Early requests open their own.
  openConnections(database, minConnections(services.settings)).catch((fault: unknown) =>
    log.warn({ err: fault }, 'connections were not opened ahead'),
  );

  let stopping = false;
  const stop = async (why: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'stopping');
    clearInterval(sweep);
    stopClock();
    draining.abort();
    await drain();
    await Promise.all([
      services.temporal.close(),
      services.printer.close(),
      services.drawing.close(),
      services.documents.close(),
      services.tracing?.close(),
    ]);
    await database.destroy();
    services.redis?.disconnect();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      void stop(signal);
    });
  // The supervisor is gone: nobody would end this process.
  if (process.send)
    process.on('disconnect', () => {
      void stop('the supervisor is gone');
    });
}

main().catch((fault: unknown) => {
  const message = fault instanceof Error ? databaseSentence(fault) : String(fault);
  process.stderr.write(`${message}\n`);
  process.exit(1);
});
