import type { Context } from 'koa';
import { nowMs } from '../../../db/client/clock.js';
import { networkOf } from '../../../db/identity/caller-network.js';
import type { Dependencies } from '../../dependencies.js';
import { problem } from '../errors.js';
import type { Allowance, RateLimit } from '../rate-limits.js';
import type { Route } from '../route.js';
import type { RouteStep } from '../state.js';

/** Counts a request to a route by its caller, else by its address (429). */
export function rateLimit(route: Route, dependencies: Dependencies): RouteStep {
  const limit = route.rateLimit ?? 'general';
  return (ctx) => {
    const { principal } = ctx.state;
    return countRequest(ctx, limit, principal && `${principal.kind}:${principal.id}`, dependencies);
  };
}

/**
 * Counts a request by its caller (`user:…`, `token:…`) when authenticated, else by network, and sets the headers of the
 * remaining allowance.
 */
export async function countRequest(
  ctx: Context,
  limit: 'general' | 'auth' | 'none',
  caller: string | undefined,
  { rateLimits: { general, auth } }: Pick<Dependencies, 'rateLimits'>,
): Promise<void> {
  if (limit === 'none') {
    // Not counted: the full allowance always remains.
    ctx.set(
      rateHeaders({
        allowed: true,
        limit: general.limit,
        remaining: general.limit,
        resetAt: Math.ceil(nowMs() / 1000),
        retryAfterSeconds: 0,
      }),
    );
    return;
  }
  await consume(ctx, limit === 'auth' ? auth : general, caller ?? `ip:${networkOf(ctx.ip)}`);
}

/** Takes one point of a limit. @throws 429 RATE_LIMITED with Retry-After when there is none left */
async function consume(ctx: Context, limit: RateLimit, key: string): Promise<void> {
  const allowance = await limit.take(key);
  ctx.set(rateHeaders(allowance));
  assertAllowed(allowance);
}

/** @throws 429 RATE_LIMITED when the allowance is used up */
export function assertAllowed(allowance: Allowance): void {
  if (allowance.allowed) return;
  throw problem('RATE_LIMITED', {
    detail: `Too many requests: ${allowance.limit} a minute are allowed.`,
    headers: { 'Retry-After': String(allowance.retryAfterSeconds), ...rateHeaders(allowance) },
  });
}

/** What an answer says of the allowance that it was counted for. */
export const rateHeaders = (allowance: Allowance): Record<string, string> => ({
  'X-RateLimit-Limit': String(allowance.limit),
  'X-RateLimit-Remaining': String(allowance.remaining),
  'X-RateLimit-Reset': String(allowance.resetAt),
});
