import type { Metric, Registry } from 'prom-client';
import type { KnownWorkers } from '../../../db/operations/worker-heartbeats.queries.js';
import { workflowTypes } from '../../../workflows/contract.js';
import { BUCKETS } from './requests.js';
import type { RequestMetrics } from './requests.js';

interface Sample {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

/** Figures from the database; undefined if unknown. */
export interface Noted {
  /** The number of failing workflows by type. */
  failing: () => Promise<Map<string, number> | undefined>;
  workers: () => Promise<KnownWorkers | undefined>;
}

const registries = new WeakMap<RequestMetrics, Promise<Registry>>();

/**
 * The metrics of this process as Prometheus text, including memory, event loop and garbage collection. The library is
 * loaded on first use: it takes more memory than all other metrics.
 */
export async function prometheusText(requests: RequestMetrics, noted: Noted): Promise<{ type: string; text: string }> {
  let registry = registries.get(requests);
  if (!registry) registries.set(requests, (registry = registryOf(requests, noted)));
  const ready = await registry;
  return { type: ready.contentType, text: await ready.metrics() };
}

async function registryOf(requests: RequestMetrics, { failing, workers }: Noted): Promise<Registry> {
  const prom = await import('prom-client');
  const registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
  register(registry, 'http_requests_total', 'counter', 'Requests answered, by route and status', () =>
    requests
      .endpoints()
      .flatMap(({ method, path, byStatus }) =>
        [...byStatus].map(([status, value]) => ({ value, labels: { method, route: path, status } })),
      ),
  );
  register(registry, 'http_request_duration_seconds', 'histogram', 'Time until the answer began, by route', () =>
    requests.endpoints().flatMap(({ method, path, buckets, count, seconds }) => {
      const labels = { method, route: path };
      let sum = 0;
      return [
        ...BUCKETS.map((le, i) => ({
          value: (sum += buckets[i]!),
          labels: { ...labels, le },
          metricName: 'http_request_duration_seconds_bucket',
        })),
        { value: count, labels: { ...labels, le: '+Inf' }, metricName: 'http_request_duration_seconds_bucket' },
        { value: seconds, labels, metricName: 'http_request_duration_seconds_sum' },
        { value: count, labels, metricName: 'http_request_duration_seconds_count' },
      ];
    }),
  );
  register(
    registry,
    'visit_tally_differences_total',
    'counter',
    'Kept counts of a study’s visits that differed from the visits, and were counted again',
    () => [{ value: requests.tallyDifferences, labels: {} }],
  );
  register(
    registry,
    'workflows_failing',
    'gauge',
    'Workflows whose task fails again and again, by type, as a worker last saw them',
    async () => {
      const found = await failing();
      // Every type is listed, so that recovery shows as a zero; none while the database is unavailable.
      const types = found && new Set([...Object.values(workflowTypes), ...found.keys()]);
      return [...(types ?? [])].map((workflow_type) => ({
        value: found?.get(workflow_type) ?? 0,
        labels: { workflow_type },
      }));
    },
  );
  register(registry, 'workers_known', 'gauge', 'Worker processes, also those that show no sign of life', async () => {
    const seen = await workers();
    return seen ? [{ value: seen.known, labels: {} }] : [];
  });
  register(registry, 'workers_silent', 'gauge', 'Worker processes that show no sign of life', async () => {
    const seen = await workers();
    return seen ? [{ value: seen.silent.length, labels: {} }] : [];
  });
  register(
    registry,
    'worker_silent_seconds',
    'gauge',
    'Seconds since the last sign of life of each silent worker, until another takes its place, an hour at the most',
    async () =>
      ((await workers())?.silent ?? []).map(({ host, pid, seconds }) => ({
        value: seconds,
        labels: { host: host ?? '', pid: pid ?? '' },
      })),
  );
  return registry;
}

/**
 * A metric whose values are counted elsewhere: it implements the part of a metric that the registry uses (`get`, of the
 * library's own contract).
 */
function register(
  registry: Registry,
  name: string,
  type: string,
  help: string,
  values: () => Sample[] | Promise<Sample[]>,
): void {
  registry.registerMetric({
    name,
    help,
    get: async () => ({ name, help, type, values: await values(), aggregator: 'sum' }),
  } as unknown as Metric);
}
