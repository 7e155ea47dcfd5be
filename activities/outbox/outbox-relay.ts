import type { Logger } from 'pino';
import { Listener } from '../../db/client/listener.js';
import { OUTBOX_CHANNEL } from '../../db/outbox/outbox.js';
import { NotificationClaimer, WorkflowClaimer } from './claimer.js';
import { RelayQueue } from './queue.js';
import type { MessageHandler } from './queue.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { Database } from '../../db/client/database.js';

/**
 * Brings committed messages to Temporal and to the mail server. It is woken by a notification and polls besides; a
 * message is leased, delivered, then deleted, so that it arrives at least once whatever dies when: ids collapse
 * doubles. Messages to persons have a lane of their own: a mail server that hangs must not keep a participant's
 * workflow waiting.
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
    },
  ) {
    this.lanes = [
      new RelayQueue(deps, new WorkflowClaimer(deps.database, deps.traffic)),
      new RelayQueue(deps, new NotificationClaimer(deps.database)),
    ];
    // Without its connection the poll alone carries on.
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

  /** Answers when what was under way is delivered or given back. */
  async stop(): Promise<void> {
    const ended = this.lanes.map((lane) => lane.stop());
    await this.listener.stop();
    await Promise.all(ended);
  }
}
