/**
 * Traces by OpenTelemetry, sent as OTLP over HTTP. Loaded only where OTEL_EXPORTER_OTLP_ENDPOINT is set: it costs 20 MB
 * and 100 ms.
 */
import { context, propagation, trace } from '@opentelemetry/api';
import type { Attributes, Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { useTraces } from '../client/trace-context.js';

export interface DatabaseTracing {
  tracer: Tracer;
  resource: Resource;
  processor: SpanProcessor;
  close: () => Promise<void>;
}

const EVERY_MS = 1_000;
/** Ids, names of routes and statuses. All other span attributes are dropped. */
const TOLD = new Set([
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'request_id',
  'run_id',
  'temporalWorkflowId',
  'temporalActivityId',
  'temporalUpdateId',
]);

/** Exports spans without possible personal data: error messages, unlisted attributes. */
class Discreet implements SpanExporter {
  constructor(private readonly to: SpanExporter) {}
  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.to.export(
      spans.map(
        (span) =>
          Object.create(span, {
            attributes: {
              value: Object.fromEntries(Object.entries(span.attributes).filter(([key]) => TOLD.has(key))) as Attributes,
            },
            events: { value: [] },
            status: { value: { code: span.status.code } },
            links: { value: [] },
          }) as ReadableSpan,
      ),
      done,
    );
  }
  shutdown(): Promise<void> {
    return this.to.shutdown();
  }
}

/** Starts sending traces. @param part the service's part that this process runs */
export function startTracing({
  endpoint,
  service,
  part,
}: {
  endpoint: string;
  service: string;
  part: 'api' | 'worker';
}): DatabaseTracing {
  const resource = new Resource({
    'service.name': service,
    'service.namespace': 'research-assessment-platform',
    'service.instance.id': `${part}-${process.pid}`,
    part,
  });
  const processor = new BatchSpanProcessor(
    new Discreet(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })),
    { scheduledDelayMillis: EVERY_MS },
  );
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({
    contextManager: new AsyncLocalStorageContextManager().enable(),
    propagator: new W3CTraceContextPropagator(),
  });
  useTraces({
    current: () => {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent === undefined ? {} : { traceparent: carrier.traceparent };
    },
    within: (carrier, work) => context.with(propagation.extract(context.active(), carrier), work),
  });
  return { tracer: trace.getTracer(part), resource, processor, close: () => provider.shutdown() };
}
