/** How the API takes part in traces; loaded only where they are asked for (db/operations/tracing.ts). */
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { startTracing } from '../db/operations/tracing.js';
import { traced } from './http/middleware/trace.js';

/** The middleware around requests, and what the client of Temporal passes on. */
export function traceApi(endpoint: string, service: string) {
  const { tracer, close } = startTracing({ endpoint, service, part: 'api' });
  return { middleware: traced(tracer), client: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] }, close };
}
