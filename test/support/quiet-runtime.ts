/**
 * Workers inside the tests' own process say nothing short of an error. A process has one runtime: import this before
 * the first worker.
 */
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  shutdownSignals: [],
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } },
});
