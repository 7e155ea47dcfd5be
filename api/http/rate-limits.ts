import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { nowMs } from '../../db/client/clock.js';
import { takePoints } from '../../db/operations/rate-limits.queries.js';
import type { Settings } from '../../settings.js';
import type { Database } from '../../db/client/database.js';

const WINDOW_SECONDS = 60;
/** A slower shared counter counts as unavailable: the request has not waited for anything else yet. */
const STORE_MS = 2_000;
/** It is not queried again for this long: requests of one caller wait for their points in sequence. */
const AWAY_MS = 5_000;

/** A caller's remaining allowance in this minute. */
export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** End of the minute, unix seconds. */
  resetAt: number;
  retryAfterSeconds: number;
}

/** `endsAt`: by the monotonic performance.now(). */
interface Lease {
  left: number;
  stored: number;
  endsAt: number;
  refused: boolean;
  renewing: Promise<void> | undefined;
}

/**
 * A limit of points for each minute, shared by all API processes through Redis or PostgreSQL. A process takes points in
 * leases of a thousandth of the limit, so that a limit of thousands does not need a statement for each request; limits
 * below 2,000 are exact.
 */
export class RateLimit {
  private readonly leases = new Map<string, Lease>();
  private readonly leaseSize: number;
  private readonly store: { consume: (key: string, points: number) => Promise<RateLimiterRes> };
  /** Used while the shared counter is unavailable: this process counts alone. */
  private readonly local: RateLimiterMemory;
  private awayUntil = 0;
  private swept = performance.now();

  constructor(
    name: string,
    readonly limit: number,
    shared: { database: Database; redis: Redis | undefined },
  ) {
    this.leaseSize = Math.max(1, Math.floor(limit / 1000));
    this.local = new RateLimiterMemory({ keyPrefix: name, points: limit, duration: WINDOW_SECONDS });
    this.store = shared.redis
      ? new RateLimiterRedis({
          keyPrefix: name,
          points: limit,
          duration: WINDOW_SECONDS,
          insuranceLimiter: this.local,
          storeClient: shared.redis,
        })
      : {
          consume: (key, points) =>
            this.consumeStored(shared.database, `${name}:${key}`, points).catch((fault: unknown) =>
              this.insured(fault, key, points),
            ),
        };
  }

  /** Takes one point of `key`'s minute. */
  async take(key: string): Promise<Allowance> {
    const now = performance.now();
    this.sweep(now);
    let lease = this.leases.get(key);
    if (!lease || lease.endsAt <= now)
      this.leases.set(
        key,
        (lease = {
          left: 0,
          stored: this.limit,
          endsAt: now + WINDOW_SECONDS * 1000,
          refused: false,
          renewing: undefined,
        }),
      );
    while (lease.left === 0 && !lease.refused) {
      // Requests that find the lease used up share one renewal.
      lease.renewing ??= this.renew(key, lease).finally(() => {
        lease.renewing = undefined;
      });
      await lease.renewing;
    }
    const allowed = lease.left > 0;
    if (allowed) lease.left -= 1;
    return this.allowance(lease, allowed);
  }

  /** The refusal of a `key` if this process knows that its minute is used up; takes no point, makes no query. */
  spent(key: string): Allowance | undefined {
    const lease = this.leases.get(key);
    if (!lease?.refused || lease.endsAt <= performance.now()) return undefined;
    return this.allowance(lease, false);
  }

  private allowance(lease: Lease, allowed: boolean): Allowance {
    const leftMs = lease.endsAt - performance.now();
    return {
      allowed,
      limit: this.limit,
      remaining: allowed ? lease.stored + lease.left : 0,
      resetAt: Math.ceil((nowMs() + leftMs) / 1000),
      retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
    };
  }

  private async renew(key: string, lease: Lease): Promise<void> {
    try {
      const result = await this.consume(key);
      lease.left += this.leaseSize;
      lease.stored = result.remainingPoints;
      lease.endsAt = performance.now() + result.msBeforeNext;
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      lease.refused = true;
      lease.endsAt = performance.now() + Math.max(1, refusal.msBeforeNext);
    }
  }

  /**
   * By the database's clock: a process with a wrong clock would otherwise end the minutes of all, or extend them for
   * hours.
   */
  private async consumeStored(database: Database, key: string, points: number): Promise<RateLimiterRes> {
    const { taken, endsInMs } = await takePoints(database, key, points, WINDOW_SECONDS * 1000);
    const counted = new RateLimiterRes(Math.max(0, this.limit - taken), endsInMs, taken, taken === points);
    if (taken > this.limit) throw counted;
    return counted;
  }

  private insured(fault: unknown, key: string, points: number): Promise<RateLimiterRes> {
    if (fault instanceof RateLimiterRes) throw fault;
    return this.local.consume(key, points);
  }

  private async consume(key: string): Promise<RateLimiterRes> {
    if (performance.now() < this.awayUntil) return this.local.consume(key, this.leaseSize);
    const patience = new AbortController();
    const late = sleep(STORE_MS, 'late' as const, { signal: patience.signal });
    const stored = this.store.consume(key, this.leaseSize);
    try {
      const first = await Promise.race([stored, late]);
      if (first !== 'late') return first;
      this.awayUntil = performance.now() + AWAY_MS;
      return await this.local.consume(key, this.leaseSize);
    } finally {
      patience.abort();
      // The result of the slower one is not awaited any more.
      for (const loser of [late, stored]) loser.then(undefined, () => undefined);
    }
  }

  /** Leases of past minutes are deleted once a minute, so that many addresses do not fill the memory. */
  private sweep(now: number): void {
    if (now - this.swept < WINDOW_SECONDS * 1000) return;
    this.swept = now;
    for (const [key, lease] of this.leases) if (lease.endsAt <= now) this.leases.delete(key);
  }
}

export interface RateLimits {
  /** All requests: by user, else by address. */
  general: RateLimit;
  /** Login and registration: by address and by account. */
  auth: RateLimit;
  /** Triggers: by capture project. */
  webhook: RateLimit;
}

/** The service's limits. */
export function rateLimits(settings: Settings, database: Database, redis: Redis | undefined): RateLimits {
  const shared = { database, redis };
  return {
    general: new RateLimit('general', settings.RATE_LIMIT_PER_MINUTE, shared),
    auth: new RateLimit('auth', settings.AUTH_RATE_LIMIT_PER_MINUTE, shared),
    webhook: new RateLimit('webhook', settings.WEBHOOK_RATE_LIMIT_PER_MINUTE, shared),
  };
}

/**
 * A Redis connection that fails at once while Redis is away, so that requests do not queue for it. Its package is only
 * loaded where it is used.
 */
export async function openRedis(url: string, onError: (error: Error) => void): Promise<Redis> {
  const { Redis: Connection } = await import('ioredis');
  const redis = new Connection(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    retryStrategy: (times) => Math.min(times * 200, 2000),
  });
  redis.on('error', onError);
  return redis;
}
