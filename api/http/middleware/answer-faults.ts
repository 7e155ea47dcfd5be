import { serializeError } from '../../../db/client/process/serialize-error.js';
import type { Dependencies } from '../../dependencies.js';
import type { Route } from '../route.js';
import type { RouteContext, RouteMiddleware, RouteState } from '../state.js';
import { mediaType, readBytes } from '../body/bytes.js';
import { toProblem } from '../to-problem.js';
import { send } from './respond.js';

/** Wraps a route that answers errors with its own page. */
export function answerFaults({ onFault }: Route, services: Dependencies): RouteMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const fault = toProblem(thrown);
      const { state, method, url, headers } = ctx;
      if (fault.status >= 500)
        services.log[fault.status === 500 ? 'error' : 'warn'](
          { request_id: state.context.requestId, code: fault.code, err: serializeError(fault.cause ?? thrown) },
          'fault',
        );
      const answer = await onFault!({
        fault,
        state,
        method,
        url,
        headers,
        services,
        body: () => formOf(ctx, services),
      });
      ctx.set(fault.options.headers ?? {});
      send(ctx, answer);
    }
  };
}

/** The largest form that is read after its request was refused unread. */
const MAX_FORM_BYTES = 64 * 1024;

async function formOf(ctx: RouteContext, { settings }: Pick<Dependencies, 'settings'>): Promise<Buffer> {
  // No route has begun, so nothing was read.
  const { raw } = ctx.state as Partial<RouteState>;
  if (raw !== undefined && raw.length > 0) return raw;
  const length = Number(ctx.get('content-length'));
  if (mediaType(ctx.req) !== 'application/x-www-form-urlencoded' || !(length <= MAX_FORM_BYTES)) return Buffer.alloc(0);
  // A body is read once: one that was too long is only discarded from here on.
  if (ctx.req.readableDidRead || ctx.req.destroyed) return Buffer.alloc(0);
  return readBytes(ctx, MAX_FORM_BYTES, settings.REQUEST_ARRIVAL_SECONDS);
}
