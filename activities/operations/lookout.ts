import type { Logger } from 'pino';
import { faultCode } from '../../db/client/connection/driver-faults.js';
import { waitingWork } from '../../db/outbox/claims.queries.js';
import type { WaitingWork } from '../../db/outbox/claims.queries.js';
import type { Database } from '../../db/client/database.js';
import { POLL_MS } from '../outbox/claimer.js';
import { WakeableTimer } from '../util/wakeable-timer.js';

/**
 * Asks the database every second whether there is work, for the relay and the dispatcher: one small question. Each of
 * their claims would ask more, and that was most of what an idle worker did. It finds what no notification tells of:
 * messages due later or again, and those of a process that ended between its commit and its notification.
 */
export class Lookout {
  private stopping = false;
  private readonly pause = new WakeableTimer();
  private loop: Promise<void> | undefined;

  constructor(private readonly deps: { database: Database; log: Logger; found: (work: WaitingWork) => void }) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.wake();
    await this.loop;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        this.deps.found(await waitingWork(this.deps.database));
      } catch (fault) {
        this.deps.log.warn(
          { fault: faultCode(fault) ?? (fault as Error).name },
          'work is not seen: the database is away',
        );
      }
      if (!this.stopping) await this.pause.wait(POLL_MS);
    }
  }
}
