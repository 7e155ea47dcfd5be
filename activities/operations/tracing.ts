/** The worker's tracing; loaded only if it is configured (db/operations/tracing.ts). */
import { createRequire } from 'node:module';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import {
  OpenTelemetryActivityInboundInterceptor,
  makeWorkflowExporter,
} from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { startTracing } from '../../db/operations/tracing.js';

/**
 * The worker's options and its client's interceptors. Workflows are bundled at the start, since the build's bundle has
 * no tracing.
 */
export function traceWorker(endpoint: string, service: string) {
  const tracing = startTracing({ endpoint, service, part: 'worker' });
  const activity: ActivityInterceptorsFactory = (context) => ({
    inbound: new OpenTelemetryActivityInboundInterceptor(context),
  });
  return {
    activity,
    workflowModules: [
      createRequire(import.meta.url).resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors'),
    ],
    sinks: { exporter: makeWorkflowExporter(tracing.processor, tracing.resource) },
    client: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    close: tracing.close,
  };
}
