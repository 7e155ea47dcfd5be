import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  LEASE_SECONDS,
  deleteDelivered,
  noteUndelivered,
  postponeMessages,
  renewLeases,
} from '../../db/outbox/claims.queries.js';
import type { OutboxRow } from '../../db/outbox/claims.queries.js';
import { WakeableTimer } from '../util/wakeable-timer.js';
import { POLL_MS } from './claimer.js';
import type { OutboxClaimer } from './claimer.js';
import type { Database } from '../../db/client/database.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';

/**
 * Delivers one message; it may be delivered again if the relay dies before it has recorded it. Throws to have it
 * retried later.
 */
export type MessageHandler = (message: OutboxRow) => Promise<void>;

const BATCH = 50;
const CONCURRENCY = 8;
/** The longest time that the next claim waits for the current batch; slower messages continue beside it. */
const BATCH_PATIENCE_MS = 250;

/** How often leases are renewed: one renewal may fail before a lease ends. */
const RENEW_MS = LEASE_SECONDS * 300;

/** A leased message. `until`: when another relay may claim it, by this process's clock. */
interface Taken {
  message: OutboxRow;
  until: number;
  delivery?: Promise<void>;
  settled?: boolean;
}

/**
 * Delivers the messages of one kind, with limited concurrency, in the order of writing. A hanging one only occupies its
 * own slot.
 */
export class RelayQueue {
  private stopping = false;
  private readonly pause = new WakeableTimer();
  /** A nudge arrived since the last claim: its message may have been committed just after that. */
  private nudged = false;
  private delayed: NodeJS.Timeout | undefined;
  private loop: Promise<void> | undefined;
  private readonly queue: Taken[] = [];
  private readonly underWay = new Set<Taken>();
  private renewals: NodeJS.Timeout | undefined;

  /** @param idle `polls`: it looks for due messages itself; `waits`: somebody else does, and wakes it */
  constructor(
    private readonly deps: { database: Database; deliver: MessageHandler; log: Logger },
    private readonly claims: OutboxClaimer,
    private readonly idle: 'polls' | 'waits' = 'polls',
  ) {}

  start(): void {
    this.loop = this.run();
    this.renewals = setInterval(() => void this.renew(), RENEW_MS);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.wake();
    await this.loop;
    await this.giveBack(this.queue.splice(0));
    await Promise.all([...this.underWay].map(({ delivery }) => delivery));
    clearInterval(this.renewals);
  }

  /** Something is due: claims it now. */
  wake(): void {
    this.pause.wake();
  }

  /** Something may be due. */
  nudge(): void {
    this.nudged = true;
    const { delay } = this.claims;
    if (delay === 0) this.pause.wake();
    else if (delay !== undefined)
      this.delayed ??= setTimeout(() => {
        this.delayed = undefined;
        this.pause.wake();
      }, delay);
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.nudged = false;
      try {
        const most = BATCH - this.queue.length - this.underWay.size;
        const until = leasedFromNow();
        const batch = most > 0 ? await this.claims.claim(most) : [];
        this.take(batch, until);
        this.begin();
        if (batch.length > 0) await Promise.race([this.allDelivered(), sleep(BATCH_PATIENCE_MS)]);
        // After a delivered message the next one of its subject may be due.
        if (most > 0 && (batch.length === most || (this.claims.delay === 0 && (batch.length > 0 || this.nudged))))
          continue;
      } catch (fault) {
        this.deps.log.warn({ fault: codeOf(fault) }, 'relay: the database is away');
      }
      if (this.stopping) return;
      const pause = this.claims.pause();
      await this.pause.wait(this.idle === 'waits' && pause >= POLL_MS ? undefined : pause);
    }
  }

  /** A process that was suspended for longer than its leases does not process its running messages twice. */
  private take(batch: readonly OutboxRow[], until: number): void {
    const held = new Map([...this.queue, ...this.underWay].map((taken) => [taken.message.id, taken]));
    for (const message of batch) {
      const already = held.get(message.id);
      if (already) already.until = until;
      else this.queue.push({ message, until });
    }
  }

  private begin(): void {
    while (!this.stopping && this.underWay.size < CONCURRENCY && this.queue.length > 0) {
      const taken = this.queue.shift()!;
      // The lease could not be renewed while the database was unavailable: another relay may have it.
      if (performance.now() > taken.until) continue;
      this.underWay.add(taken);
      taken.delivery = this.deliver(taken).finally(() => {
        this.underWay.delete(taken);
        this.begin();
        if (this.queue.length === 0) this.nudge();
      });
    }
  }

  private async allDelivered(): Promise<void> {
    while (this.underWay.size > 0) await Promise.race([...this.underWay].map(({ delivery }) => delivery));
  }

  /** Renews running leases: a slow server does not cause a second delivery. */
  private async renew(): Promise<void> {
    const held = [...this.queue, ...this.underWay].filter(
      ({ until, settled }) => !settled && until < performance.now() + RENEW_MS * 2,
    );
    if (held.length === 0) return;
    const until = leasedFromNow();
    try {
      await renewLeases(
        this.deps.database,
        held.map(({ message }) => message.id),
      );
      for (const taken of held) taken.until = until;
    } catch (fault) {
      this.deps.log.warn({ fault: codeOf(fault) }, 'relay: the database is away');
    }
  }

  /** Returns messages that have not started: another worker claims them at once. */
  private async giveBack(left: readonly Taken[]): Promise<void> {
    if (left.length === 0) return;
    try {
      await postponeMessages(
        this.deps.database,
        left.map(({ message }) => message.id),
        0,
      );
    } catch (fault) {
      // They are due again when their lease ends.
      this.deps.log.warn({ fault: codeOf(fault) }, 'relay: the database is away');
    }
  }

  private async deliver(taken: Taken): Promise<void> {
    const { database, log } = this.deps;
    const { message } = taken;
    try {
      await this.deps.deliver(message);
      await deleteDelivered(database, message.id);
    } catch (fault) {
      taken.settled = true;
      const wait = Math.min(0.5 * 2 ** Math.min(message.attempts, 8), 60);
      log.warn(
        { topic: message.topic, outbox: message.id, attempts: message.attempts, fault: codeOf(fault) },
        `relay: not delivered, again in ${wait} s`,
      );
      await noteUndelivered(database, message.id, wait, codeOf(fault))
        // The database is unavailable: the message is due again when its lease ends.
        .catch((away: unknown) => log.warn({ outbox: message.id, fault: codeOf(away) }, 'relay: the database is away'));
    }
  }
}

const leasedFromNow = (): number => performance.now() + LEASE_SECONDS * 1000;
const codeOf = (fault: unknown): string => faultCode(fault) ?? (fault instanceof Error ? fault.name : 'fault');
