import { Client, Connection } from '@temporalio/client';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { nowMs } from '../db/client/clock.js';
import { payloadKeys, temporalTls } from '../settings.js';
import type { Settings } from '../settings.js';
import { deadlineIn } from '../workflows/client.js';
import { dataConverterOf } from '../workflows/util/payload-codec.js';
import { disableWhenUnused } from './call-context.js';
import { problem } from './http/errors.js';

const CACHE_TTL_MS = 5_000;
const DOWN_CACHE_MS = 1_000;
const PROBE_MS = 1_500;
/** An idle worker polls once a minute; a poller that is silent for longer is gone. */
const POLLER_GONE_MS = 75_000;

export interface Probe {
  up: boolean;
  latencyMs: number;
  detail?: string;
}

/** The connection to Temporal: opened on first use, reconnects automatically, and never delays the start of the API. */
export class Temporal {
  readonly connection: Connection;
  private readonly opened: Client;
  private server: { at: number; probe: Promise<Probe> } | undefined;
  private worker: { at: number; probe: Promise<Probe> } | undefined;

  constructor(
    private readonly settings: Settings,
    interceptors: { workflow?: WorkflowClientInterceptor[] } = {},
  ) {
    if (!settings.TEMPORAL_ADDRESS)
      throw new Error(
        'TEMPORAL_ADDRESS is not set: name the Temporal server as host:port ("npm start" sets it for the ' +
          'embedded one).',
      );
    this.connection = Connection.lazy({
      address: settings.TEMPORAL_ADDRESS,
      ...temporalTls(settings),
      // By default a channel sleeps for two minutes after an outage.
      channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 },
    });
    disableWhenUnused(this.connection.callContextStorage);
    const dataConverter = dataConverterOf(payloadKeys(settings));
    this.opened = new Client({
      connection: this.connection,
      namespace: settings.TEMPORAL_NAMESPACE,
      interceptors,
      ...(dataConverter && { dataConverter }),
    });
  }

  /** The client. @throws Problem 503 TEMPORAL_UNAVAILABLE while the server is unavailable. */
  async client(): Promise<Client> {
    const probe = await this.probeServer();
    if (!probe.up) throw problem('TEMPORAL_UNAVAILABLE');
    return this.opened;
  }

  /** The client without a check of the server: calls on it fail on their own. */
  get unchecked(): Client {
    return this.opened;
  }

  /** Whether the server answers; checked again after 5 s, after 1 s when it was unavailable. */
  probeServer(): Promise<Probe> {
    const now = performance.now();
    if (!this.server || now >= this.server.at) {
      const probe = withMetrics(PROBE_MS, async (deadline) => {
        await this.connection.withDeadline(deadline, () => this.connection.workflowService.getSystemInfo({}));
      });
      const entry = { at: now + CACHE_TTL_MS, probe };
      this.server = entry;
      void probe.then((p) => {
        if (!p.up) entry.at = performance.now() + DOWN_CACHE_MS;
      });
    }
    return this.server.probe;
  }

  /** Whether a worker has polled the task queue lately; checked at most every 5 s. */
  probeWorker(): Promise<Probe> {
    const now = performance.now();
    if (!this.worker || now - this.worker.at >= CACHE_TTL_MS) this.worker = { at: now, probe: this.lookForWorker() };
    return this.worker.probe;
  }

  private async lookForWorker(): Promise<Probe> {
    return withMetrics(PROBE_MS, async (deadline) => {
      const { pollers } = await this.connection.withDeadline(deadline, () =>
        this.connection.workflowService.describeTaskQueue({
          namespace: this.settings.TEMPORAL_NAMESPACE,
          taskQueue: { name: this.settings.TEMPORAL_TASK_QUEUE },
          taskQueueType: 1, // workflow tasks
        }),
      );
      const last = Math.max(0, ...(pollers ?? []).map((p) => Number(p.lastAccessTime?.seconds ?? 0) * 1000));
      if (last === 0) throw new Error('no worker has asked for work');
      if (nowMs() - last > POLLER_GONE_MS) throw new Error('no worker has asked for work for over a minute');
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

/** Runs a check with a deadline; a failure becomes `up: false` with its message. */
export async function withMetrics(deadlineMs: number, check: (deadline: number) => Promise<void>): Promise<Probe> {
  const started = performance.now();
  const latency = () => Math.round((performance.now() - started) * 10) / 10;
  try {
    await check(deadlineIn(deadlineMs));
    return { up: true, latencyMs: latency() };
  } catch (failure) {
    return { up: false, latencyMs: latency(), detail: failure instanceof Error ? firstSentence(failure) : 'failed' };
  }
}

/** The public part of a failure: its kind, not addresses or accounts in a driver's message. */
function firstSentence(failure: Error): string {
  const code = (failure as { code?: unknown }).code;
  if (typeof code === 'string') return code;
  return failure.message.startsWith('no worker') ? failure.message : 'not reached';
}
