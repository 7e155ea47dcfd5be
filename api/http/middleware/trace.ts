import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import type { Tracer } from '@opentelemetry/api';
import type { Context, Next } from 'koa';
import type { RequestState } from '../state.js';

/**
 * A span around every request, in the trace of its `traceparent`, if any. It has route and status, never path or query.
 */
export function traceRequests(tracer: Tracer) {
  return (ctx: Context, next: Next): Promise<void> => {
    const { traceparent, tracestate } = ctx.headers;
    const parent = propagation.extract(context.active(), {
      ...(typeof traceparent === 'string' && { traceparent }),
      ...(typeof tracestate === 'string' && { tracestate }),
    });
    const span = tracer.startSpan(
      ctx.method,
      { kind: SpanKind.SERVER, attributes: { 'http.request.method': ctx.method } },
      parent,
    );
    return context.with(trace.setSpan(parent, span), async () => {
      try {
        await next();
      } finally {
        const { route = 'none', context: request } = ctx.state as Partial<RequestState>;
        span.updateName(`${ctx.method} ${route}`);
        span.setAttributes({
          'http.route': route,
          'http.response.status_code': ctx.status,
          ...(request && { request_id: request.requestId }),
        });
        if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      }
    });
  };
}
