import type { Context, Next } from 'koa';

const EXPOSED =
  'ETag, Location, Retry-After, Content-Disposition, X-Request-ID, X-Correlation-ID, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Deprecation, Sunset';
const ASKED =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Study-ID, X-Site-ID, X-Participant-ID, X-Session-ID, X-Correlation-ID';

/**
 * Lets pages of the origins in CORS_ORIGINS call the service with a bearer token. Never with cookies: the portal's is
 * for its own pages (SameSite=Strict), and `Access-Control-Allow-Credentials` is not sent.
 */
export function cors(origins: readonly string[]) {
  return async (ctx: Context, next: Next): Promise<void> => {
    if (origins.length > 0) ctx.vary('Origin');
    const origin = ctx.get('origin');
    const known = origin !== '' && origins.includes(origin);
    if (known) {
      ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED });
    }
    await next();
    const preflight = ctx.method === 'OPTIONS' && ctx.get('access-control-request-method') !== '';
    if (known && preflight && ctx.status === 204) {
      ctx.set({
        'Access-Control-Allow-Methods': ctx.response.get('allow'),
        'Access-Control-Allow-Headers': ASKED,
        'Access-Control-Max-Age': '600',
      });
    }
  };
}
