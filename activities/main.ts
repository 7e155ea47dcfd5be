/** The worker process: workflows, activities, and the relay that brings committed messages to Temporal. */
import '../db/client/process/traces.js';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { heartbeat } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { CheckpointFolder } from '../db/audit/audit-folder.js';
import { auditSigner } from '../db/audit/audit-signing.js';
import { followClock } from '../db/client/clock.js';
import { openDatabase } from '../db/client/knex.js';
import { logSerializers } from '../db/client/process/serialize-error.js';
import { closeChange, noteChange } from '../db/outbox/pending-work.queries.js';
import { withStudyScope } from '../db/client/transaction.js';
import { databaseSentence } from '../db/client/connection/driver-faults.js';
import { assertLatestRevision } from '../db/migrate.js';
import {
  SettingsError,
  checkpointFolder,
  payloadKeys,
  connectableHost,
  readSettings,
  temporalTls,
  unsignedMessages,
} from '../settings.js';
import type { Settings } from '../settings.js';
import { createAnchorClient } from '../workflows/client.js';
import { createAuditActivities } from './audit/audit.activities.js';
import { dataConverterOf } from '../workflows/util/payload-codec.js';
import { createCaptureActivities } from './capture/capture.activities.js';
import { CALLS_AT_ONCE } from './capture/client/call-queue.js';
import { Checkpointer } from './audit/checkpoints.js';
import { createPushActivities } from './capture/push/push.activities.js';
import { setPoll } from './capture/poll-schedules.js';
import { createSyncActivities } from './capture/sync.js';
import { EventDispatcher } from './events/dispatcher.js';
import { createEventActivities } from './events/events.activities.js';
import { StuckWorkflowDetector } from './operations/stuck-workflow-detector.js';
import { registeredAttributes } from './operations/search-attributes.js';
import { WorkerHeartbeat } from './operations/worker-heartbeat.js';
import { createAnchorActivities } from './index.js';
import { activityMetrics, serveWorkerMetrics } from './operations/metrics.js';
import { openMessaging } from './notifications/notifications.activities.js';
import { Lookout } from './operations/lookout.js';
import { Reconciler } from './operations/reconcile.js';
import { createMessageHandler } from './outbox/message-handler.js';
import { OutboxRelay } from './outbox/outbox-relay.js';
import { createExportActivities } from './exports/exports.activities.js';
import { createSimulationActivities } from './simulation/simulation.activities.js';
import { LoadMonitor } from './util/load-monitor.js';
import { sdkLogger } from './util/sdk-logger.js';
import { StartedWork } from './util/started-work.js';
import { createVisitActivities } from './scheduling/scheduling.activities.js';
import { ensureVisitSchedules } from './scheduling/schedules.js';

// Garbage of a burst has outlived the engine's young generation. By default the engine lets the heap grow to four times
// the memory in use before a collection, here and in the workflow thread. Measured: 2,000 triggers, 300 MB of it.
setFlagsFromString('--heap-growing-percent=40');
const settings = settingsOrEnd();
const log = pino({ level: settings.LOG_LEVEL, base: { part: 'worker' }, serializers: logSerializers });
if (!settings.DATABASE_URL || !settings.TEMPORAL_ADDRESS)
  end('DATABASE_URL and TEMPORAL_ADDRESS must be set for the worker ("npm start" sets them)');

const database = openDatabase({
  url: settings.DATABASE_URL,
  appPassword: settings.DATABASE_APP_PASSWORD,
  poolMax: settings.DATABASE_POOL_MAX,
  muteMs: settings.REQUEST_TIMEOUT_SECONDS * 1000,
  name: 'worker',
});
await orEnd(assertLatestRevision(database), databaseSentence);
const stopClock = await followClock(database, (fault) =>
  log.warn({ err: fault }, 'the time was not asked of the database'),
);

// The process decides itself when to drain: the runtime must not react to signals.
Runtime.install({ shutdownSignals: [], logger: sdkLogger() });
const taskQueue = settings.TEMPORAL_TASK_QUEUE;
const namespace = settings.TEMPORAL_NAMESPACE;
const tls = temporalTls(settings);
const native = await orEnd(
  NativeConnection.connect({ address: settings.TEMPORAL_ADDRESS, ...tls }),
  ({ message }) => `TEMPORAL_ADDRESS: the Temporal server is not reached (${message.split('\n', 1)[0]}).`,
);
const connection = await Connection.connect({
  address: settings.TEMPORAL_ADDRESS,
  ...tls,
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 },
});
const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
const tracing =
  endpoint === undefined
    ? undefined
    : (await import('./operations/tracing.js')).traceWorker(endpoint, settings.OTEL_SERVICE_NAME);
const dataConverter = dataConverterOf(payloadKeys(settings));
const payloads = settings.TEMPORAL_PAYLOADS ?? 'open';
const ofWorkflows = dataConverterOf(payloadKeys(settings), payloads);
const ofClients = { ...(dataConverter && { dataConverter }), ...(tracing && { interceptors: tracing.client }) };
const client = new Client({ connection, namespace, ...ofClients });
const anchors = createAnchorClient(client, { taskQueue, timeoutSeconds: settings.REQUEST_TIMEOUT_SECONDS });

const traffic = new LoadMonitor();
const started = new StartedWork();
const capture = { database, settings, anchors, log, traffic };
const messaging = openMessaging({ settings, database, log, heartbeat });
const bundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
const [workflows] = ['../workflows/index.js', '../workflows/index.ts']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .filter((path) => existsSync(path)) as [string];
const metrics =
  settings.WORKER_METRICS_PORT === undefined
    ? undefined
    : await orEnd(
        serveWorkerMetrics({
          host: settings.WORKER_METRICS_HOST,
          port: settings.WORKER_METRICS_PORT,
          token: settings.METRICS_TOKEN,
          database,
          log,
        }),
        ({ message }) => message,
      );
const labels = {
  publicUrl: settings.PUBLIC_URL ?? `http://${connectableHost(settings.HOST)}:${settings.PORT}`,
  registered: await registeredAttributes(connection, namespace, log),
  participantCodes: settings.TEMPORAL_PARTICIPANT_CODES,
  console: settings.ENABLE_CONSOLE,
};
const worker = await Worker.create({
  interceptors: {
    activity: [...(metrics ? [activityMetrics(metrics.observe)] : []), ...(tracing ? [tracing.activity] : [])],
    ...(tracing && { workflowModules: tracing.workflowModules }),
  },
  ...(tracing && { sinks: tracing.sinks }),
  connection: native,
  namespace,
  taskQueue,
  ...(ofWorkflows && { dataConverter: ofWorkflows }),
  // The build's bundle encrypts and has no tracing: without a key, or with tracing, a bundle is created at the start.
  ...(existsSync(bundle) && !tracing && ofWorkflows?.failureConverterPath !== undefined
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: workflows }),
  activities: {
    ...createAnchorActivities({
      database,
      heartbeat,
      unsigned: unsignedMessages(settings),
      payloads,
      signaturesAskAgain: settings.production,
      labels,
      applied: (participantId) => started.end(participantId),
    }),
    ...createExportActivities({ database, settings }),
    ...createSimulationActivities({ database }),
    ...createVisitActivities({ database, heartbeat }),
    ...createCaptureActivities(capture),
    ...createSyncActivities(capture),
    ...createPushActivities(capture),
    ...messaging.activities,
    ...createEventActivities({ database, settings, log }),
    ...createAuditActivities({ database, settings }),
  },
  // Attempts that wait for a capture system hold none of the slots for work on the database.
  maxConcurrentLocalActivityExecutions: settings.DATABASE_POOL_MAX + CALLS_AT_ONCE,
  maxConcurrentActivityTaskExecutions: settings.DATABASE_POOL_MAX + CALLS_AT_ONCE,
  maxCachedWorkflows: 2000,
  // Tasks for a stopped worker reach another one within a request's timeout (REQUEST_TIMEOUT_SECONDS).
  stickyQueueScheduleToStartTimeout: '3s',
  shutdownGraceTime: '5s',
  shutdownForceTime: '9s',
});

// A run that this worker starts is delivered to it with the answer, without the task queue.
const eagerClient = new Client({ connection: native, namespace, ...ofClients });
const eager = {
  client: eagerClient,
  anchors: createAnchorClient(eagerClient, {
    taskQueue,
    timeoutSeconds: settings.REQUEST_TIMEOUT_SECONDS,
    eager: true,
  }),
  eager: true,
};
const relay = new OutboxRelay({
  database,
  log,
  traffic,
  started,
  listenUrl: settings.DATABASE_URL,
  appPassword: settings.DATABASE_APP_PASSWORD,
  deliver: createMessageHandler({
    ...eager,
    unsigned: unsignedMessages(settings),
    taskQueue,
    setPoll: (studyId) => setPoll({ client, database, taskQueue }, studyId),
    sendNotification: messaging.send,
    sendUserLink: messaging.sendUserLink,
    sendAccountNotice: messaging.sendAccountNotice,
    noteChange: (change) => withStudyScope(database, '*', ({ tx }) => noteChange(tx, change)),
    closeChange: ({ study_id, change_id }) =>
      withStudyScope(database, '*', ({ tx }) => closeChange(tx, study_id, change_id)),
  }),
});
relay.start();
const ensureJobs = async (keep: boolean) => {
  await ensureVisitSchedules(client, {
    taskQueue,
    visitStatusSeconds: settings.VISIT_STATUS_INTERVAL_SECONDS,
    sessionMinutes: settings.ASSESSMENT_SESSION_MINUTES,
    keep,
  });
  await messaging.prepare(client, taskQueue, keep);
};
const reconciler = new Reconciler({ database, client, taskQueue, log, ensureJobs: () => ensureJobs(true) });
reconciler.start();
const failingWorkflows = new StuckWorkflowDetector({
  database,
  client,
  taskQueue,
  log,
  everySeconds: settings.FAILING_WORKFLOWS_INTERVAL_SECONDS,
});
failingWorkflows.start();
const lifeSigns = new WorkerHeartbeat({ database, taskQueue, log });
lifeSigns.start();
const checkpointer =
  settings.AUDIT_SIGNING_KEY === undefined
    ? undefined
    : new Checkpointer({
        database,
        log,
        signer: auditSigner(settings.AUDIT_SIGNING_KEY),
        folder: new CheckpointFolder(checkpointFolder(settings)),
        everySeconds: settings.AUDIT_CHECKPOINT_SECONDS,
        noteTurn: metrics?.noteCheckpoints,
      });
if (checkpointer) checkpointer.start();
else log.warn('AUDIT_SIGNING_KEY is not set: audit chains are not signed');
const dispatcher = new EventDispatcher({ database, settings, log });
dispatcher.start();
const lookout = new Lookout({
  database,
  log,
  found: ({ messages, subscriptions }) => {
    if (messages) relay.wake();
    dispatcher.note(subscriptions);
  },
});
lookout.start();

const drain = () => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
};
process.on('SIGTERM', drain);
process.on('SIGINT', drain);
// The supervisor is gone: an unsupervised worker must stop.
process.on('disconnect', drain);
// It works while it ensures the periodic jobs: a busy Temporal server is slow at these.
const prepared = ensureJobs(false).then(() => {
  process.send?.({ ready: true });
  log.info({ taskQueue }, 'worker is ready');
});
const running = worker.run();
await Promise.race([running, prepared.then(() => running)]);
await metrics?.close();
await checkpointer?.stop();
stopClock();
await reconciler.stop();
await failingWorkflows.stop();
await lifeSigns.stop();
await lookout.stop();
await dispatcher.stop();
await relay.stop();
messaging.close();
await connection.close();
await native.close();
await database.destroy();
await tracing?.close();
log.info('worker has drained');
process.exit(0);

/** A fault of the settings is for the person who set them: its sentences, without a stack. */
function settingsOrEnd(): Settings {
  try {
    return readSettings(process.env, 'worker');
  } catch (fault) {
    if (!(fault instanceof SettingsError)) throw fault;
    return end(fault.message);
  }
}

/** Waits for a part of the start. Why it fails is for the operator: a sentence, without a stack. */
function orEnd<T>(work: Promise<T>, sentenceOf: (fault: Error) => string): Promise<T> {
  return work.catch((fault: Error) => end(sentenceOf(fault)));
}

function end(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
