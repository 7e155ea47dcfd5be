import { setTimeout as sleep } from 'node:timers/promises';
import { anySubscription, claimDeliveries } from '../../db/events/event-deliveries.queries.js';
import type { ClaimedDelivery } from '../../db/events/event-deliveries.queries.js';
import { inScope } from '../../db/client/transaction.js';
import { WakeableTimer } from '../util/wakeable-timer.js';
import { sendDelivery, leaseSeconds } from './attempt.js';
import type { EventDeps } from './attempt.js';
import { faultCode } from '../../db/client/driver-faults.js';

/** At once in hand: of all, and of one subscription, so that a slow subscriber holds up itself alone. */
const CONCURRENCY = 64,
  EACH = 8;
const POLL_MS = 250,
  IDLE_POLL_MS = 1_000,
  LAST_WAIT_MS = 3_000;

/**
 * Makes the first attempt at every delivery, soon after the commit that wrote it, and looks after those that were lost
 * by a process or by Temporal. A workflow for each delivery would be the simpler thing, but the first attempt is the
 * last one nearly always, and a workflow with one activity costs the server about 20 ms of processor time: half of this
 * machine at fifty a second. Only what failed gets one.
 */
export class EventDispatcher {
  private stopping = false;
  private readonly pause = new WakeableTimer();
  private loop: Promise<void> | undefined;
  private readonly inHand = new Map<string, { subscription: string; done: Promise<void> }>();

  constructor(private readonly deps: EventDeps) {}

  start(): void {
    this.loop = this.run();
  }

  /**
   * Takes nothing more and waits a moment for what is in hand; what is not done then is taken up again when its lease
   * ends.
   */
  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.wake();
    await this.loop;
    await Promise.race([
      Promise.all([...this.inHand.values()].map(({ done }) => done)),
      sleep(LAST_WAIT_MS, undefined, { ref: false }),
    ]);
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      let pause = IDLE_POLL_MS;
      try {
        if (await anySubscription(this.deps.database)) {
          pause = POLL_MS;
          const claimed = await this.claim();
          for (const delivery of claimed) this.take(delivery);
          // More may wait than was taken.
          if (claimed.length > 0 && this.inHand.size < CONCURRENCY) pause = 0;
        }
      } catch (fault) {
        this.deps.log.warn({ fault: faultCode(fault) ?? (fault as Error).name }, 'events: the database is away');
      }
      if (pause > 0 && !this.stopping) await this.pause.wait(pause);
    }
  }

  private async claim(): Promise<ClaimedDelivery[]> {
    if (this.inHand.size >= CONCURRENCY) return [];
    const busy: Record<string, number> = {};
    for (const { subscription } of this.inHand.values()) busy[subscription] = (busy[subscription] ?? 0) + 1;
    return inScope(this.deps.database, '*', ({ tx }) =>
      claimDeliveries(tx, {
        each: EACH,
        most: CONCURRENCY - this.inHand.size,
        leaseSeconds: leaseSeconds(this.deps),
        busy,
      }),
    );
  }

  private of(subscription: string): number {
    let count = 0;
    for (const one of this.inHand.values()) if (one.subscription === subscription) count += 1;
    return count;
  }

  private take(delivery: ClaimedDelivery): void {
    const done = sendDelivery(this.deps, delivery, true)
      .catch((fault: unknown) => {
        // Its lease ends and it is taken up again.
        this.deps.log.warn(
          { delivery: delivery.id, fault: faultCode(fault) ?? (fault as Error).name },
          'events: an attempt was not noted',
        );
      })
      .finally(() => {
        this.inHand.delete(delivery.id);
        // The next of a subscription in order waits for this one; those of one whose hands were full wait for room, and
        // all where everybody's are. Waiting for the next look instead they would come at eight a look.
        if (delivery.ordered || this.inHand.size === CONCURRENCY - 1 || this.of(delivery.subscription_id) === EACH / 2)
          this.pause.wake();
      });
    this.inHand.set(delivery.id, { subscription: delivery.subscription_id, done });
  }
}
