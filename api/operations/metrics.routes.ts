import { withStudyScope } from '../../db/client/transaction.js';
import { anyone, roles, outsideStudy } from '../http/access.js';
import { prometheusText } from './metrics/prometheus.js';
import { auditActor } from '../http/audit-actor.js';
import { reply, route, response } from '../http/route.js';
import { Instant, Type, extension, listOf, oneOf, paging, named, record } from '../http/common.schemas.js';
import { failingWorkflows } from './failing-workflows.service.js';
import { workerStatuses } from './workers.service.js';
import { admitScraper, processFigures } from './metrics.service.js';

const summary = {
  uptime_seconds: Type.Number(),
  start_time: Instant,
  since: extension(Instant, 'start or last reset: what is counted came after it'),
  total_requests: Type.Integer(),
  total_errors: Type.Integer({ description: 'answers of 400 and above' }),
  error_rate: Type.Number({ description: '0 to 1' }),
  endpoints_count: Type.Integer({ description: 'that were asked' }),
};
const Summary = named('MetricsSummary', Type.Object(summary));
const ms = Type.Number({ minimum: 0 });
const Endpoint = record('EndpointMetrics', {
  method: Type.String(),
  path: Type.String({ description: 'the route’s; `none`: what is no route' }),
  count: Type.Integer(),
  errors: Type.Integer(),
  server_errors: Type.Integer(),
  error_rate: Type.Number(),
  mean_ms: ms,
  p50_ms: ms,
  p90_ms: ms,
  p95_ms: ms,
  p99_ms: ms,
  max_ms: ms,
});
const All = record('Metrics', {
  ...summary,
  endpoints: Type.Array(Endpoint),
  process: Type.Object({
    pid: Type.Integer(),
    memory: Type.Object({
      rss_bytes: Type.Integer(),
      heap_used_bytes: Type.Integer(),
      heap_total_bytes: Type.Integer(),
    }),
    cpu_seconds: Type.Number(),
    event_loop_utilization: Type.Number(),
  }),
});
const ofOne =
  'Counted since the start or the last reset, by the API process that answers: each counts for itself. Nothing ' +
  'is stored.';
const readers = { tag: 'Metrics', access: outsideStudy(roles('researcher')), description: ofOne } as const;
const admin = { tag: 'Metrics', access: outsideStudy(roles('admin')) } as const;

export const metricsRoutes = [
  route({
    ...readers,
    method: 'GET',
    path: '/api/metrics/summary',
    operationId: 'getMetricsSummary',
    summary: 'Get a summary of requests and errors',
    responses: { 200: Summary },
    handle: ({ services }) => services.metrics.summary(),
  }),
  route({
    ...readers,
    method: 'GET',
    path: '/api/metrics/endpoints',
    operationId: 'getEndpointMetrics',
    summary: 'Get metrics by endpoint, most requested first',
    query: Type.Object({ ...paging }),
    responses: { 200: listOf(Endpoint) },
    handle: ({ services, query: { skip = 0, limit = 50 } }) => {
      const endpoints = services.metrics.endpoints().sort((a, b) => b.count - a.count);
      return {
        items: endpoints.slice(skip, skip + limit).map((endpoint) => endpoint.figures()),
        total: endpoints.length,
      };
    },
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/metrics',
    operationId: 'getMetrics',
    summary: 'Get all metrics of the process',
    description: ofOne,
    responses: { 200: All },
    handle: ({ services: { metrics } }) => ({
      ...metrics.summary(),
      endpoints: metrics.endpoints().map((endpoint) => endpoint.figures()),
      process: processFigures(),
    }),
  }),
  route({
    ...admin,
    method: 'POST',
    path: '/api/metrics/reset',
    operationId: 'resetMetrics',
    summary: 'Reset metrics',
    description: ofOne,
    responses: { 200: record('MetricsReset', { status: oneOf('reset'), since: Instant }) },
    handle: async ({ services, actor, context }) => {
      await withStudyScope(services.database, [], async ({ audit }) =>
        audit.record({
          ...auditActor(actor, context),
          study_id: null,
          action: 'metrics_reset',
          resource_type: 'metrics',
          resource_id: null,
        }),
      );
      services.metrics.reset();
      return { status: 'reset', since: services.metrics.since.toISOString() };
    },
  }),
  route({
    method: 'GET',
    path: '/api/metrics/prometheus',
    operationId: 'getPrometheusMetrics',
    tag: 'Metrics',
    summary: 'Get metrics in the Prometheus text format',
    description: 'Counts and times of this process as text, for a scraper.',
    access: { ...anyone, note: 'METRICS_TOKEN, or an admin’s access token, as bearer' },
    rateLimit: 'none',
    responses: {
      200: response(undefined, { mediaTypes: ['text/plain'] }),
      401: undefined,
      403: undefined,
      503: undefined,
    },
    handle: async ({ services, headers }) => {
      await admitScraper(services, headers.authorization);
      const { type, text } = await prometheusText(services.metrics, {
        failing: () => failingWorkflows(services),
        workers: () => workerStatuses(services),
      });
      return reply(200, text, { 'Content-Type': type });
    },
  }),
];
