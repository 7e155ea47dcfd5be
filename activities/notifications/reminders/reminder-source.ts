import { setTimeout as sleep } from 'node:timers/promises';
import { nowMs } from '../../../db/client/clock.js';
import { claimReminders } from '../../../db/notifications/reminders.queries.js';
import type { ReminderRow } from '../../../db/notifications/reminders.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { Channel } from '../../../workflows/domain/notifications/settings.js';
import type { RateLimiter } from '../rate-limiter.js';
import type { Database } from '../../../db/client/database.js';

/** Reminders of one claim: few enough that a dead worker delays little until its lease ends. */
const BATCH = 100;
/** At this many remaining the next ones are claimed, so that senders do not wait for the database. */
const AHEAD = 40;
/** This many full claims indicate a large number. */
const CROWD_CLAIMS = 3;
/** How far ahead slots of a provider's rate limit are reserved; later reminders are claimed again then. */
const PACE_AHEAD_MS = 10_000;
/** Well within a claim's lease; reminders not started by then are left to the next claim. */
const BEGIN_BEFORE_MS = 20_000;

/** A claimed reminder as read, and when it may be sent. */
export interface ClaimedReminder {
  row: ReminderRow;
  readAt: number;
  notBefore: number;
}
export interface ReminderSourceDeps {
  database: Database;
  pace: RateLimiter | undefined;
  by: string;
  leaseSeconds: number;
  /** Nothing is claimed after this time (performance.now()). */
  until: number;
  /** Releases a claim until that time. */
  letGo: (row: ReminderRow, until: string) => void;
}

/** Due reminders, claimed a few at a time and ahead of their senders. */
export class ReminderSource {
  private readonly rows: ClaimedReminder[] = [];
  private claiming: Promise<void> | undefined;
  private dry = false;
  private fault: unknown;
  private fullClaims = 0;
  /** When reminders delayed by the rate limit are due again. */
  private resumeAt = 0;

  constructor(private readonly deps: ReminderSourceDeps) {}

  /** Whether a large number is due. */
  get crowded(): boolean {
    return this.fullClaims >= CROWD_CLAIMS;
  }

  /** The next one to send; undefined: nothing is due. @throws errors of the database */
  async next(): Promise<ClaimedReminder | undefined> {
    for (;;) {
      if (this.rows.length <= AHEAD && !this.dry)
        this.claiming ??= this.claim()
          .catch((fault: unknown) => {
            this.fault = fault;
            this.dry = true;
          })
          .finally(() => {
            this.claiming = undefined;
          });
      if (this.rows.length === 0 && this.claiming) await this.claiming;
      if (this.fault !== undefined) throw this.fault;
      const claimed = this.rows.shift();
      if (!claimed) {
        if (this.dry) return undefined;
        continue;
      }
      const wait = claimed.notBefore - performance.now();
      if (wait > 0) await sleep(wait);
      if (performance.now() - claimed.readAt < BEGIN_BEFORE_MS) return claimed;
    }
  }

  private async claim(): Promise<void> {
    const { database, by, leaseSeconds, until } = this.deps;
    const rows =
      performance.now() < until
        ? await withStudyScope(database, '*', ({ tx }) => claimReminders(tx, { by, limit: BATCH, leaseSeconds }))
        : [];
    if (rows.length === BATCH) this.fullClaims += 1;
    if (rows.length > 0) return this.keep(rows, performance.now());
    const wait = this.resumeAt - performance.now();
    if (wait > 0 && this.resumeAt < until) await sleep(wait);
    else this.dry = true;
  }

  /** Reminders on a channel without a limit come first: they need not wait. */
  private async keep(rows: readonly ReminderRow[], readAt: number): Promise<void> {
    const { pace, letGo } = this.deps;
    const limited = new Map<Channel, ReminderRow[]>();
    for (const row of rows) {
      if (!pace?.limits(row.channel)) this.rows.push({ row, readAt, notBefore: 0 });
      else limited.set(row.channel, [...(limited.get(row.channel) ?? []), row]);
    }
    for (const [channel, waiting] of limited) {
      const { granted, firstInMs, everyMs } = await pace!.reserve(channel, waiting.length, PACE_AHEAD_MS);
      const now = performance.now();
      this.rows.push(
        ...waiting.slice(0, granted).map((row, i) => ({ row, readAt, notBefore: now + firstInMs + i * everyMs })),
      );
      if (granted === waiting.length) continue;
      this.resumeAt = now + PACE_AHEAD_MS;
      for (const row of waiting.slice(granted)) letGo(row, new Date(nowMs() + PACE_AHEAD_MS).toISOString());
    }
  }
}
