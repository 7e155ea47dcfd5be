import { randomUUID } from 'node:crypto';
import { acceptTriggers } from './webhook-events.queries.js';
import type { CheckedTrigger, NewTrigger, TriggerTaker } from './webhook-events.queries.js';
import type { Database } from '../client/database.js';
import { carriedTrace } from '../client/trace-context.js';
import { faultCode } from '../client/connection/driver-faults.js';

interface Waiting {
  item: CheckedTrigger;
  resolve: (taken: boolean) => void;
  reject: (fault: unknown) => void;
}

/** Few concurrent statements let the others gather into a batch. */
const IN_FLIGHT = 3;
const MAX_BATCH = 200;

/**
 * Commits triggers; those that arrive during a commit share the next one. A single trigger is committed at once; a
 * burst shares round trip and commit.
 */
export class TriggerInbox {
  private readonly waiting: Waiting[] = [];
  private inFlight = 0;

  constructor(private readonly database: Database) {}

  /**
   * Commits an event of a trigger for each study, in the trace of this call though it shares a statement with others.
   * @returns the studies that refused it (see acceptTriggers)
   */
  async accept(trigger: NewTrigger, takers: readonly TriggerTaker[]): Promise<TriggerTaker[]> {
    const trace = carriedTrace();
    const taken = await Promise.all(takers.map((taker) => this.commits({ id: randomUUID(), trigger, taker, trace })));
    return takers.filter((_, index) => !taken[index]);
  }

  /** Resolves after the commit: whether it was accepted. */
  private commits(item: CheckedTrigger): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.inFlight >= IN_FLIGHT || this.waiting.length === 0) return;
    this.inFlight += 1;
    void this.commit(this.waiting.splice(0, MAX_BATCH)).finally(() => {
      this.inFlight -= 1;
      this.next();
    });
  }

  private async commit(batch: Waiting[]): Promise<void> {
    try {
      const taken = await acceptTriggers(
        this.database,
        batch.map(({ item }) => item),
      );
      for (const { item, resolve } of batch) resolve(taken.has(item.id));
    } catch (fault) {
      // A value that the database refuses (classes 22 and 23) must not refuse the others: nothing was committed, each
      // is tried separately. If the database is unavailable, all of them fail.
      if (batch.length > 1 && /^2[23]/.test(faultCode(fault) ?? '')) {
        await Promise.all(batch.map((one) => this.commit([one])));
      } else {
        for (const { reject } of batch) reject(fault);
      }
    }
  }
}
