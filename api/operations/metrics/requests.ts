import { createHistogram } from 'node:perf_hooks';
import type { RecordableHistogram } from 'node:perf_hooks';
import { nowMs } from '../../../db/client/clock.js';

/** Upper bounds of the Prometheus buckets, in seconds. */
export const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const MAX_US = 600_000_000;

/** The requests to one endpoint since the start or the last reset. Times in milliseconds. */
export interface EndpointFigures {
  method: string;
  path: string;
  count: number;
  /** Answers with status 400 and above; `server_errors` are those of 500 and above. */
  errors: number;
  server_errors: number;
  error_rate: number;
  mean_ms: number;
  p50_ms: number;
  p90_ms: number;
  p95_ms: number;
  p99_ms: number;
  max_ms: number;
}

/**
 * Counters of one endpoint. The histogram is the runtime's own (HDR, two digits): some 30 kB, a tenth of a microsecond
 * for each value.
 */
export class Endpoint {
  readonly byStatus = new Map<number, number>();
  readonly buckets = new Uint32Array(BUCKETS.length + 1);
  private readonly times: RecordableHistogram = createHistogram({ lowest: 1, highest: MAX_US, figures: 2 });
  count = 0;
  seconds = 0;

  constructor(
    readonly method: string,
    readonly path: string,
  ) {}

  record(status: number, ms: number): void {
    this.count += 1;
    this.seconds += ms / 1000;
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    const bucket = BUCKETS.findIndex((bound) => ms <= bound * 1000);
    this.buckets[bucket === -1 ? BUCKETS.length : bucket]! += 1;
    this.times.record(Math.min(MAX_US, Math.max(1, Math.round(ms * 1000))));
  }

  /** The number of answers with at least this status. */
  from(status: number): number {
    let sum = 0;
    for (const [of, count] of this.byStatus) if (of >= status) sum += count;
    return sum;
  }

  figures(): EndpointFigures {
    const percentile = (share: number) => rounded(this.times.percentile(share) / 1000);
    const errors = this.from(400);
    return {
      method: this.method,
      path: this.path,
      count: this.count,
      errors,
      server_errors: this.from(500),
      error_rate: share(errors, this.count),
      mean_ms: rounded((this.seconds * 1000) / this.count),
      p50_ms: percentile(50),
      p90_ms: percentile(90),
      p95_ms: percentile(95),
      p99_ms: percentile(99),
      max_ms: rounded(this.times.max / 1000),
    };
  }
}

/**
 * The requests that this process answered, by endpoint. Unknown paths are counted together, so that clients can't
 * create endpoints.
 */
export class RequestMetrics {
  private readonly known = new Map<string, Endpoint>();
  readonly startedAt = new Date(nowMs() - process.uptime() * 1000);
  since = this.startedAt;
  /** How often kept counts of a study's visits were found to differ from the visits. */
  tallyDifferences = 0;

  record(method: string, path: string | undefined, status: number, ms: number): void {
    const key = path === undefined ? 'ANY none' : `${method} ${path}`;
    let endpoint = this.known.get(key);
    if (!endpoint)
      this.known.set(key, (endpoint = path === undefined ? new Endpoint('ANY', 'none') : new Endpoint(method, path)));
    endpoint.record(status, ms);
  }

  reset(): void {
    this.known.clear();
    this.since = new Date(nowMs());
  }

  endpoints(): Endpoint[] {
    return [...this.known.values()];
  }

  summary() {
    const endpoints = this.endpoints();
    const total = endpoints.reduce((sum, { count }) => sum + count, 0);
    const errors = endpoints.reduce((sum, endpoint) => sum + endpoint.from(400), 0);
    return {
      uptime_seconds: rounded(process.uptime()),
      start_time: this.startedAt.toISOString(),
      since: this.since.toISOString(),
      total_requests: total,
      total_errors: errors,
      error_rate: share(errors, total),
      endpoints_count: endpoints.length,
    };
  }
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 1e6) / 1e6);
