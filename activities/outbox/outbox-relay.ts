import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { OUTBOX_CHANNEL } from '../../db/outbox/outbox.js';
import { NotificationClaimer, WorkflowClaimer } from './claimer.js';
import { RelayQueue } from './queue.js';
import type { MessageHandler } from './queue.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { Database } from '../../db/client/database.js';

const RECONNECT_MS = 1000;

/**
 * Brings committed messages to Temporal and to the mail server. It is woken by a notification and polls besides; a
 * message is leased, delivered, then deleted, so that it arrives at least once whatever dies when: ids collapse
 * doubles. Messages to persons have a lane of their own: a mail server that hangs must not keep a participant's
 * workflow waiting.
 */
export class OutboxRelay {
  private stopping = false;
  private readonly lanes: RelayQueue[];
  private listener: pg.Client | undefined;

  constructor(
    private readonly deps: {
      database: Database;
      listenUrl: string;
      deliver: MessageHandler;
      log: Logger;
      traffic: LoadMonitor;
    },
  ) {
    this.lanes = [
      new RelayQueue(deps, new WorkflowClaimer(deps.database, deps.traffic)),
      new RelayQueue(deps, new NotificationClaimer(deps.database)),
    ];
  }

  start(): void {
    for (const lane of this.lanes) lane.start();
    void this.listen();
  }

  /** Answers when what was under way is delivered or given back. */
  async stop(): Promise<void> {
    this.stopping = true;
    const ended = this.lanes.map((lane) => lane.stop());
    await this.listener
      ?.end()
      .catch((fault: Error) => this.deps.log.debug({ fault: fault.message }, 'relay: listener closed'));
    await Promise.all(ended);
  }

  /** Keeps a listening connection; without it the poll alone carries on. */
  private async listen(): Promise<void> {
    while (!this.stopping) {
      const client = new pg.Client({
        connectionString: this.deps.listenUrl,
        application_name: 'relay-listen',
        keepAlive: true,
      });
      const gone = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      try {
        await client.connect();
        this.listener = client;
        client.on('notification', () => {
          for (const lane of this.lanes) lane.nudge();
        });
        await client.query(`listen ${OUTBOX_CHANNEL}`);
        await gone;
      } catch (fault) {
        this.deps.log.debug({ fault: (fault as { code?: string }).code ?? 'fault' }, 'relay: cannot listen yet');
      }
      if (!this.stopping) await sleep(RECONNECT_MS);
    }
  }
}
