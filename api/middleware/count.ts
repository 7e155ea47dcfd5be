import type { Context } from 'koa';
import { nowMs } from '../../db/clock.js';
import { problem } from '../errors.js';
import type { Allowance, RateLimit } from '../rate-limits.js';
import type { Services } from '../services.js';

/**
 * Counts a request by its caller (`user:…`, `token:…`) when authenticated, else by address, and says what is left
 * (decisions, section 2).
 */
export async function count(
  ctx: Context,
  limit: 'general' | 'auth' | 'none',
  caller: string | undefined,
  services: Services,
): Promise<void> {
  const { general, auth } = services.rateLimits;
  if (limit === 'none') {
    // Not counted: what is left is always all of it.
    show(ctx, {
      allowed: true,
      limit: general.limit,
      remaining: general.limit,
      resetAt: Math.ceil(nowMs() / 1000),
      retryAfterSeconds: 0,
    });
    return;
  }
  await take(ctx, limit === 'auth' ? auth : general, caller ?? `ip:${ctx.ip}`);
}

/** Takes one point of a limit. @throws 429 RATE_LIMITED with Retry-After when there is none left */
export async function take(ctx: Context, limit: RateLimit, key: string): Promise<void> {
  const allowance = await limit.take(key);
  show(ctx, allowance);
  refuse(allowance);
}

/** @throws 429 RATE_LIMITED when the allowance is used up */
export function refuse(allowance: Allowance): void {
  if (allowance.allowed) return;
  throw problem('RATE_LIMITED', {
    detail: `Too many requests: ${allowance.limit} a minute are allowed.`,
    headers: { 'Retry-After': String(allowance.retryAfterSeconds), ...headers(allowance) },
  });
}

const headers = (a: Allowance) => ({
  'X-RateLimit-Limit': String(a.limit),
  'X-RateLimit-Remaining': String(a.remaining),
  'X-RateLimit-Reset': String(a.resetAt),
});
const show = (ctx: Context, allowance: Allowance): void => {
  ctx.set(headers(allowance));
};
