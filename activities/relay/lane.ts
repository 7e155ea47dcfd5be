import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../db/knex.js';
import { Pause } from '../pause.js';
import type { Claims, OutboxRow } from './claims.js';
import { LEASE_SECONDS } from './claims.js';

/** Delivers one message; it may be delivered again when the relay dies before it has noted it. Throws to have it repeated later. */
export type Deliver = (message: OutboxRow) => Promise<void>;

const BATCH = 50;
const CONCURRENCY = 8;
/** So long the next look waits for the present batch; what takes longer goes on beside it. */
const BATCH_PATIENCE_MS = 250;

interface Taken { message: OutboxRow; until: number }

/**
 * Delivers the messages of one kind, so many at a time, in the order in which they were written. One that hangs holds
 * its own place and nobody else's.
 */
export class Lane {
  private stopping = false;
  private readonly pause = new Pause();
  /** A nudge came since the last look: what it was for may have been committed just after that. */
  private nudged = false;
  private delayed: NodeJS.Timeout | undefined;
  private loop: Promise<void> | undefined;
  private readonly queue: Taken[] = [];
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly deps: { database: Database; deliver: Deliver; log: Logger }, private readonly claims: Claims) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.wake();
    await this.loop;
    // Those not begun yet are due again when their lease ends.
    this.queue.length = 0;
    await Promise.all(this.underWay);
  }

  /** Something may be due. */
  nudge(): void {
    this.nudged = true;
    const { delay } = this.claims;
    if (delay === 0) this.pause.wake();
    else if (delay !== undefined) this.delayed ??= setTimeout(() => { this.delayed = undefined; this.pause.wake(); }, delay);
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.nudged = false;
      try {
        const most = BATCH - this.queue.length - this.underWay.size;
        const batch = most > 0 ? await this.claims.claim(most) : [];
        const until = performance.now() + LEASE_SECONDS * 500;
        this.queue.push(...batch.map((message) => ({ message, until })));
        this.begin();
        if (batch.length > 0) await Promise.race([this.idle(), sleep(BATCH_PATIENCE_MS)]);
        // Behind one that was delivered the next of its subject may wait.
        if (most > 0 && (batch.length === most || (this.claims.delay === 0 && (batch.length > 0 || this.nudged)))) continue;
      } catch (fault) {
        this.deps.log.warn({ fault: codeOf(fault) }, 'relay: the database is away');
      }
      if (this.stopping) return;
      await this.pause.wait(this.claims.pause());
    }
  }

  private begin(): void {
    while (!this.stopping && this.underWay.size < CONCURRENCY && this.queue.length > 0) {
      const { message, until } = this.queue.shift()!;
      // Its lease may end before it is through: another relay may have it by then.
      if (performance.now() > until) continue;
      const work = this.deliver(message).finally(() => {
        this.underWay.delete(work);
        this.begin();
        if (this.queue.length === 0) this.nudge();
      });
      this.underWay.add(work);
    }
  }

  private async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.race(this.underWay);
  }

  private async deliver(message: OutboxRow): Promise<void> {
    const { database, log } = this.deps;
    try {
      await this.deps.deliver(message);
      await database('outbox').where({ id: message.id }).delete();
    } catch (fault) {
      const wait = Math.min(0.5 * 2 ** Math.min(message.attempts, 8), 60);
      log.warn({ topic: message.topic, outbox: message.id, attempts: message.attempts, fault: codeOf(fault) }, `relay: not delivered, again in ${wait} s`);
      await database.raw(`update outbox set available_at = clock_timestamp() + ? * interval '1 second', last_error = ? where id = ?`, [wait, codeOf(fault).slice(0, 500), message.id])
        // The database is away: the message is due again when its lease ends.
        .catch((away: unknown) => log.warn({ outbox: message.id, fault: codeOf(away) }, 'relay: the database is away'));
    }
  }
}

const codeOf = (fault: unknown): string => (fault as { code?: unknown }).code?.toString() ?? (fault instanceof Error ? fault.name : 'fault');
