import type { Logger } from 'pino';
import { Listener } from '../../db/client/connection/listener.js';
import { OUTBOX_CHANNEL } from '../../db/outbox/outbox.js';
import { NotificationClaimer, WorkflowClaimer } from './claimer.js';
import { RelayQueue } from './queue.js';
import type { MessageHandler } from './queue.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { StartedWork } from '../util/started-work.js';
import type { Database } from '../../db/client/database.js';

/**
 * Delivers committed messages to Temporal and to the mail server. It is woken by notifications and by the
 * lookout; a message is leased, delivered, then deleted, so that it arrives at least once after any crash: ids remove
 * duplicates. Messages to persons have their own lane: a hanging mail server must not delay participants' workflows.
 */
export class OutboxRelay {
  private readonly lanes: RelayQueue[];
  private readonly listener: Listener;

  constructor(
    private readonly deps: {
      database: Database;
      listenUrl: string;
      appPassword?: string | undefined;
      deliver: MessageHandler;
      log: Logger;
      traffic: LoadMonitor;
      started: StartedWork;
    },
  ) {
    this.lanes = [
      new RelayQueue(deps, new WorkflowClaimer(deps.database, deps.traffic, deps.started), 'waits'),
      new RelayQueue(deps, new NotificationClaimer(deps.database), 'waits'),
    ];
    // Without its connection the lookout alone wakes it.
    this.listener = new Listener({
      url: deps.listenUrl,
      appPassword: deps.appPassword,
      channel: OUTBOX_CHANNEL,
      name: 'relay-listen',
      heard: () => {
        for (const lane of this.lanes) lane.nudge();
      },
      fault: (code) => {
        deps.log.debug({ fault: code }, 'relay: cannot listen');
      },
    });
  }

  start(): void {
    for (const lane of this.lanes) lane.start();
    this.listener.start();
  }

  /** Messages are due. */
  wake(): void {
    for (const lane of this.lanes) lane.wake();
  }

  /** Resolves when running messages are delivered or returned. */
  async stop(): Promise<void> {
    const ended = this.lanes.map((lane) => lane.stop());
    await this.listener.stop();
    await Promise.all(ended);
  }
}
