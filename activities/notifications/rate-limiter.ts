import { lockPace, movePace } from '../../db/notifications/provider-paces.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Channel } from '../../workflows/domain/notifications/settings.js';
import type { Database } from '../../db/client/database.js';

/** Messages per minute that a channel's provider accepts; 0: no limit. */
export type PerMinute = Readonly<Record<Channel, number>>;
export interface Slots {
  granted: number;
  firstInMs: number;
  everyMs: number;
}

/** The providers' rate limits, shared by all workers: they are in the database, and cost nothing if no limit is set. */
export class RateLimiter {
  constructor(
    private readonly database: Database,
    private readonly perMinute: PerMinute,
  ) {}

  /** Whether a channel has a limit. */
  limits(channel: Channel): boolean {
    return this.perMinute[channel] > 0;
  }

  /** Reserves the next slots of a channel for up to `count` messages, none later than in `withinMs`. */
  reserve(channel: Channel, count: number, withinMs: number): Promise<Slots> {
    const everyMs = 60_000 / this.perMinute[channel];
    return withStudyScope(this.database, '*', async ({ tx }) => {
      const firstInMs = Math.max(0, await lockPace(tx, channel));
      const granted = Math.max(0, Math.min(count, Math.floor((withinMs - firstInMs) / everyMs) + 1));
      if (granted > 0) await movePace(tx, channel, firstInMs + granted * everyMs);
      return { granted, firstInMs, everyMs };
    });
  }

  /** A message that skips the queue (a user waits for it) delays the others. */
  async jumpIn(channel: Channel): Promise<void> {
    if (!this.limits(channel)) return;
    await withStudyScope(this.database, '*', async ({ tx }) => {
      await movePace(tx, channel, Math.max(0, await lockPace(tx, channel)) + 60_000 / this.perMinute[channel]);
    });
  }
}
