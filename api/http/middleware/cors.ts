import type { Context, Next } from 'koa';
import { headerNames } from '../openapi/parameters.js';
import type { Route } from '../route.js';

/** Headers of an answer that a script of another origin may read. */
const EXPOSED =
  'ETag, Location, Retry-After, Content-Disposition, Content-Range, Accept-Ranges, Content-Length, Allow, ' +
  'WWW-Authenticate, Idempotent-Replay, X-Change-Id, X-Request-ID, X-Correlation-ID, X-RateLimit-Limit, ' +
  'X-RateLimit-Remaining, X-RateLimit-Reset, Deprecation, Sunset';
/** Headers that every request may have. */
const ANYWHERE = [
  'Authorization',
  'Content-Type',
  'Content-Encoding',
  'X-Study-ID',
  'X-Site-ID',
  'X-Participant-ID',
  'X-Correlation-ID',
  'X-Request-ID',
  'traceparent',
  'tracestate',
];

/** The headers of these routes' contract, each once. */
function headersOf(routes: readonly Route[]): string {
  const names = [...ANYWHERE, ...routes.flatMap(headerNames)];
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].join(', ');
}

/**
 * Lets pages of the origins in CORS_ORIGINS call the service with a bearer token. Never with cookies: the portal's is
 * for its own pages (SameSite=Strict), and `Access-Control-Allow-Credentials` is not sent.
 */
export function cors(origins: readonly string[], routes: readonly Route[]) {
  const asked = headersOf(routes);
  return async (ctx: Context, next: Next): Promise<void> => {
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    const known = origin !== '' && origins.includes(origin);
    if (known) {
      ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED });
    }
    await next();
    if (isPreflight(ctx, origins) && ctx.status === 204) {
      ctx.set({
        'Access-Control-Allow-Methods': ctx.response.get('allow'),
        'Access-Control-Allow-Headers': asked,
        'Access-Control-Max-Age': '600',
      });
    }
  };
}

/**
 * Whether a browser asks in advance for a page of one of these origins. It sends no token with that: counted by
 * network, the pages of everybody behind one address would share one allowance.
 */
export const isPreflight = (ctx: Context, origins: readonly string[]): boolean =>
  ctx.method === 'OPTIONS' &&
  ctx.get('access-control-request-method') !== '' &&
  ctx.get('origin') !== '' &&
  origins.includes(ctx.get('origin'));
