/** The API's tracing; loaded only if it is configured (db/operations/tracing.ts). */
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { startTracing } from '../db/operations/tracing.js';
import { traceRequests } from './http/middleware/trace.js';

/** The middleware around requests, and the interceptors of the Temporal client. */
export function traceApi(endpoint: string, service: string) {
  const { tracer, close } = startTracing({ endpoint, service, part: 'api' });
  return {
    middleware: traceRequests(tracer),
    client: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    close,
  };
}
