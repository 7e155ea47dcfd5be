import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { Logger } from 'pino';
import { nowMs } from '../../../db/client/clock.js';
import { serializeError } from '../../../db/client/process/serialize-error.js';
import { isHttpsOutside } from '../../public-url.js';
import { FAULT_POLICY, faultPage } from '../documents/fault-page.js';
import { toProblem } from '../to-problem.js';
import { drainRequestBody } from '../body/drain.js';
import type { RequestState } from '../state.js';
import type { Dependencies } from '../../dependencies.js';

/** A client's correlation id; another value is replaced, and the log notes it. */
const CORRELATION_ID = /^[\x20-\x7e]{1,200}$/;

/** As OWASP recommends: a year, including subdomains. Browsers only apply it over https. */
const HSTS = 'max-age=31536000; includeSubDomains';

/**
 * Wraps every request: its ids, the headers of every answer, errors converted into answers, and one line in the access
 * log. The line has the route's pattern, never the path, query or body, which may contain personal data.
 */
export function requestLogger({
  log,
  metrics,
  settings,
  draining,
}: Pick<Dependencies, 'log' | 'metrics' | 'settings' | 'draining'>) {
  const httpsOutside = isHttpsOutside(settings);
  return async (ctx: Context, next: Next): Promise<void> => {
    const started = performance.now();
    const requestId = randomUUID();
    const given = ctx.get('x-correlation-id');
    const reused = CORRELATION_ID.test(given);
    const correlationId = reused ? given : randomUUID();
    const state = ctx.state as RequestState;
    state.context = {
      requestId,
      correlationId,
      ip: ctx.ip.slice(0, 45),
      userAgent: ctx.get('user-agent').slice(0, 500) || undefined,
      receivedMs: nowMs(),
    };
    ctx.set({
      'X-Request-ID': requestId,
      'X-Correlation-ID': correlationId,
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'Cache-Control': 'no-store',
      ...((httpsOutside || ctx.secure) && { 'Strict-Transport-Security': HSTS }),
      ...(draining.aborted && { Connection: 'close' }),
    });
    try {
      await next();
    } catch (thrown) {
      answerFault(ctx, thrown, log);
    }
    drainRequestBody(ctx, Math.max(4 * (state.bodyLimit ?? settings.MAX_BODY_BYTES), settings.MAX_BODY_BYTES));
    const ms = performance.now() - started;
    metrics.record(ctx.method, state.route, ctx.status, ms);
    log.info(
      {
        method: ctx.method,
        route: state.route ?? 'none',
        status: ctx.status,
        ms: Math.round(ms * 10) / 10,
        request_id: requestId,
        correlation_id: correlationId,
        ...(given !== '' && !reused && { correlation_id_replaced: true }),
        ...(state.userId && { user_id: state.userId }),
      },
      'request',
    );
  };
}

function answerFault(ctx: Context, thrown: unknown, log: Logger): void {
  const { requestId } = (ctx.state as RequestState).context;
  const fault = toProblem(thrown);
  if (fault.status === 500) log.error({ request_id: requestId, err: serializeError(thrown) }, 'fault');
  else if (fault.status === 503)
    log.warn({ request_id: requestId, code: fault.code, err: serializeError(fault.cause) }, 'unavailable');
  ctx.set(fault.options.headers ?? {});
  ctx.status = fault.status;
  if (isForBrowser(ctx)) {
    ctx.vary('Accept');
    ctx.set('Content-Security-Policy', FAULT_POLICY);
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = faultPage(fault.status, ctx.get('accept-language'));
    return;
  }
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(fault.body(requestId));
}

/** Whether a person opens an address of pages: the API, its codec and its documents answer JSON to everybody. */
const isForBrowser = (ctx: Context): boolean =>
  ['GET', 'HEAD'].includes(ctx.method) &&
  ctx.get('accept').includes('text/html') &&
  !/^\/(?:api|codec)(?:\/|$)|\.json$/.test(ctx.path);
