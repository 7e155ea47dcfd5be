import { setTimeout as sleep } from 'node:timers/promises';
import { claimDeliveries } from '../../db/events/event-deliveries.queries.js';
import type { ClaimedDelivery } from '../../db/events/event-deliveries.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { WakeableTimer } from '../util/wakeable-timer.js';
import { sendDelivery, leaseSeconds } from './attempt.js';
import type { EventDeps } from './attempt.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';

/** Deliveries in progress, in total and for each subscription, so that a slow subscriber only delays itself. */
const CONCURRENCY = 64,
  EACH = 8;
const POLL_MS = 250,
  AWAY_POLL_MS = 1_000,
  LAST_WAIT_MS = 3_000;

/**
 * Makes the first attempt at every delivery, soon after its commit, and takes over those that a process or Temporal
 * lost. A workflow for each delivery would be simpler, but the first attempt nearly always succeeds, and a workflow
 * with one activity costs the server about 20 ms of processor time: half of a small machine at fifty a second. Only
 * failed deliveries get one.
 */
export class EventDispatcher {
  private stopping = false;
  private subscribed = false;
  private readonly pause = new WakeableTimer();
  private loop: Promise<void> | undefined;
  private readonly inHand = new Map<string, { subscription: string; done: Promise<void> }>();

  constructor(private readonly deps: EventDeps) {}

  start(): void {
    this.loop = this.run();
  }

  /** @param subscribed whether there is a subscription: without one it claims nothing */
  note(subscribed: boolean): void {
    if (subscribed && !this.subscribed) this.pause.wake();
    this.subscribed = subscribed;
  }

  /** Stops claiming and waits a moment for running deliveries; the others are claimed again when their lease ends. */
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
      let pause = POLL_MS;
      try {
        if (this.subscribed) {
          const claimed = await this.claim();
          for (const delivery of claimed) this.take(delivery);
          // More may be pending than were claimed.
          if (claimed.length > 0 && this.inHand.size < CONCURRENCY) pause = 0;
        }
      } catch (fault) {
        this.deps.log.warn({ fault: faultCode(fault) ?? (fault as Error).name }, 'events: the database is away');
        pause = AWAY_POLL_MS;
      }
      if (pause > 0 && !this.stopping) await this.pause.wait(this.subscribed ? pause : undefined);
    }
  }

  private async claim(): Promise<ClaimedDelivery[]> {
    if (this.inHand.size >= CONCURRENCY) return [];
    const busy: Record<string, number> = {};
    for (const { subscription } of this.inHand.values()) busy[subscription] = (busy[subscription] ?? 0) + 1;
    return withStudyScope(this.deps.database, '*', ({ tx }) =>
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
        // It is claimed again when its lease ends.
        this.deps.log.warn(
          { delivery: delivery.id, fault: faultCode(fault) ?? (fault as Error).name },
          'events: an attempt was not noted',
        );
      })
      .finally(() => {
        this.inHand.delete(delivery.id);
        // The next delivery of an ordered subscription waits for this one, and so do those of a subscription, or of
        // all, at the concurrency limit. Waiting for the next poll instead would limit them to eight each time.
        if (delivery.ordered || this.inHand.size === CONCURRENCY - 1 || this.of(delivery.subscription_id) === EACH / 2)
          this.pause.wake();
      });
    this.inHand.set(delivery.id, { subscription: delivery.subscription_id, done });
  }
}
