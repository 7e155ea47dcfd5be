import { anyone } from '../http/access.js';
import { route, reply } from '../http/route.js';
import { Type, nullable, oneOf, record, extended } from '../http/common.schemas.js';
import { checkAll, checkDatabase, checkRedis } from './health.service.js';
import { version } from '../http/version.js';

const Basic = record('Liveness', { status: oneOf('ok'), environment: Type.String(), version: Type.String() });
const One = record('DependencyHealth', {
  status: oneOf('ok', 'down', 'not_configured'),
  latency_ms: nullable(Type.Number()),
});
const Dependency = record('DependencyStatus', {
  status: oneOf('ok', 'down', 'not_configured'),
  latency_ms: Type.Optional(nullable(Type.Number())),
  detail: Type.Optional(Type.String()),
});
const WorkerDependency = extended('WorkerStatus', Dependency, {
  known: Type.Optional(Type.Integer({ description: 'worker processes' })),
  silent: Type.Optional(Type.Integer({ description: 'those of them that show no sign of life' })),
});
const Detailed = record('DetailedHealth', {
  status: oneOf('ok', 'degraded', 'down'),
  environment: Type.String(),
  version: Type.String(),
  dependencies: Type.Object({
    database: Dependency,
    temporal: Dependency,
    redis: Dependency,
    worker: WorkerDependency,
    mail: Dependency,
  }),
});

const basic = (path: '/api/health' | '/api/metrics/health') =>
  route({
    method: 'GET',
    path,
    operationId: path === '/api/health' ? 'getLiveness' : 'getMetricsLiveness',
    tag: 'Health',
    summary: 'Liveness',
    description:
      'Answers as long as the process runs; it checks nothing else. `/api/health/detailed` says whether the ' +
      'service can work.',
    access: anyone,
    rateLimit: 'none',
    responses: { 200: Basic },
    handle: ({ services }) => ({ status: 'ok', environment: services.settings.NODE_ENV, version }),
  });

const told = (status: string, body: object) =>
  status === 'down' ? reply(503, body, { 'Retry-After': '1' }) : reply(200, body);

export const healthRoutes = [
  basic('/api/health'),
  basic('/api/metrics/health'),
  route({
    method: 'GET',
    path: '/api/health/db',
    operationId: 'getDatabaseHealth',
    tag: 'Health',
    summary: 'Database health',
    description: 'Asks the database and says how long it took. 503 where it does not answer.',
    access: anyone,
    rateLimit: 'none',
    responses: { 200: One, 503: One },
    handle: async ({ services }) => {
      const { status, latency_ms } = await checkDatabase(services);
      return told(status, { status, latency_ms });
    },
  }),
  route({
    method: 'GET',
    path: '/api/health/redis',
    operationId: 'getRedisHealth',
    tag: 'Health',
    summary: 'Redis health',
    description:
      'Asks Redis and says how long it took; `not_configured` where the service runs without it. 503 where it ' +
      'does not answer.',
    access: anyone,
    rateLimit: 'none',
    responses: { 200: One, 503: One },
    handle: async ({ services }) => {
      const { status, latency_ms } = await checkRedis(services);
      return told(status, { status, latency_ms });
    },
  }),
  route({
    method: 'GET',
    path: '/api/health/detailed',
    operationId: 'getDetailedHealth',
    tag: 'Health',
    summary: 'Health of every dependency',
    access: anyone,
    rateLimit: 'none',
    description:
      'Database, Temporal and a worker are needed: 503 when one of them is down. Redis and mail are not: ' +
      '`degraded`, as is one of several workers that shows no sign of life.',
    responses: { 200: Detailed, 503: Detailed },
    handle: async ({ services }) => {
      const detailed = await checkAll(services);
      return told(detailed.status, detailed);
    },
  }),
];
