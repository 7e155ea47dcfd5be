import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { removeHeartbeat, recordHeartbeat } from '../../db/operations/worker-heartbeats.queries.js';
import type { Database } from '../../db/client/database.js';

const EVERY_MS = 3_000;

/**
 * Sends a heartbeat to the database every few seconds. A frozen process, or one with a blocked event loop, sends none:
 * health depends on the heartbeat, not on whether the process exists.
 */
export class WorkerHeartbeat {
  private readonly id = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private telling: Promise<void> = Promise.resolve();

  constructor(private readonly deps: { database: Database; taskQueue: string; log: Logger }) {}

  start(): void {
    this.tell();
    this.timer = setInterval(() => {
      this.tell();
    }, EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.telling;
    await removeHeartbeat(this.deps.database, this.id).catch((fault: unknown) => {
      this.noteFault(fault);
    });
  }

  private tell(): void {
    const { database, taskQueue } = this.deps;
    const place = { id: this.id, taskQueue, host: hostname(), pid: process.pid };
    this.telling = recordHeartbeat(database, place).catch((fault: unknown) => {
      this.noteFault(fault);
    });
  }

  /** The database is unavailable: its own health check reports that. */
  private noteFault(fault: unknown): void {
    this.deps.log.debug({ fault: fault instanceof Error ? fault.name : 'fault' }, 'sign of life not written');
  }
}
