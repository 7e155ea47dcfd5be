import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { payloadsMustBeSealed } from '../security/sealed-messages.js';
import { Http, login, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import type { RunJson, Service } from '../support/service.js';
import { until } from '../support/until.js';
import { attributes, details } from './labels.js';

interface Endpoint {
  method: string;
  path: string;
  count: number;
  errors: number;
  p50_ms: number;
  p90_ms: number;
  p95_ms: number;
  p99_ms: number;
  mean_ms: number;
  max_ms: number;
}

const adminOf = async ({ api, admin_email, admin_password }: RunJson): Promise<Http> =>
  (await login(api, admin_email, admin_password ?? '')).http;

/** What its operator may choose of a service. */
export const CHOSEN = {
  TEMPORAL_PAYLOADS: 'sealed',
  TEMPORAL_PARTICIPANT_CODES: 'true',
  PUBLIC_URL: 'https://research.example.org',
};

interface Setting {
  service: Service;
  metricsPort: number;
  /** METRICS_TOKEN */
  token: string;
}

/** @param of a service with the settings above */
export function operatorsSettings(of: () => Setting): void {
  let service: Service;
  let metricsPort: number;
  let TOKEN: string;
  before(() => {
    ({ service, metricsPort, token: TOKEN } = of());
  });

  describe('Metrics of the worker', () => {
    it('are served where WORKER_METRICS_PORT says, behind METRICS_TOKEN', async () => {
      const at = `http://127.0.0.1:${metricsPort}/metrics`;
      expect((await fetch(at)).status).to.equal(401);
      const http = await adminOf(service.run);
      await newParticipant(http, (await newStudy(http)).id);
      const text = await until(
        async () => {
          const answer = await (await fetch(at, { headers: { Authorization: `Bearer ${TOKEN}` } })).text();
          return /^activity_duration_seconds_count\{activity="\w+",outcome="completed"\} [1-9]/m.test(answer)
            ? answer
            : undefined;
        },
        { timeout: 60_000, interval: 300, what: 'an activity to be counted' },
      );
      expect(text)
        .to.match(/^outbox_messages \d+$/m)
        .and.match(/^audit_unsigned_records [1-9]\d*$/m)
        .and.match(/^process_cpu_seconds_total /m);
    });
  });

  describe('Metrics of the API', () => {
    let root: Http;
    before(async () => {
      root = await adminOf(service.run);
      await root.expect(200, 'POST', '/api/metrics/reset');
    });

    it('count requests and errors by route, with percentiles', async () => {
      for (let i = 0; i < 12; i += 1) await root.get('/api/studies');
      for (let i = 0; i < 4; i += 1) await root.get(`/api/studies/00000000-0000-4000-8000-00000000000${i}`);
      await root.get('/api/nowhere/1');
      await root.get('/api/nowhere/2');
      const summary = await root.expect(200, 'GET', '/api/metrics/summary');
      expect(summary).to.have.keys(
        'uptime_seconds',
        'start_time',
        'since',
        'total_requests',
        'total_errors',
        'error_rate',
        'endpoints_count',
      );
      // The reset itself is counted as well: it ends after the counters are gone.
      expect(summary).to.include({ total_requests: 19, total_errors: 6, endpoints_count: 4 });
      expect(summary.error_rate).to.be.closeTo(6 / 19, 1e-5);
      expect(Date.parse(summary.start_time as string)).to.be.lessThan(Date.now());
      const { items, total } = await root.expect<{ items: Endpoint[]; total: number }>(
        200,
        'GET',
        '/api/metrics/endpoints',
      );
      expect(total).to.equal(5);
      const one = items[0]!;
      expect(one).to.include({ method: 'GET', path: '/api/studies', count: 12, errors: 0 });
      expect([one.p50_ms, one.p90_ms, one.p95_ms, one.p99_ms]).to.satisfy(
        (p: number[]) => p[0]! > 0 && p[0]! <= p[1]! && p[1]! <= p[2]! && p[2]! <= p[3]! && p[3]! <= one.max_ms,
      );
      expect(items.find(({ path }) => path === '/api/studies/{study_id}')).to.include({ count: 4, errors: 4 });
      expect(
        items.find(({ path }) => path === 'none'),
        'what is no route counts together',
      ).to.include({ count: 2, errors: 2 });
      const all = await root.expect<Loose & { endpoints: Endpoint[]; process: { memory: { rss_bytes: number } } }>(
        200,
        'GET',
        '/api/metrics',
      );
      expect(all.endpoints.length).to.equal(all.endpoints_count);
      expect(all.process.memory.rss_bytes).to.be.greaterThan(1e7);
    });

    it('are for researchers and admins; all of it and the reset for admins', async () => {
      const study = await newStudy(root);
      for (const [role, reads] of [
        ['researcher', 200],
        ['coordinator', 403],
        ['investigator', 403],
        ['data_manager', 403],
      ] as const) {
        const other = await user(root, role, { study_ids: [study.id] });
        for (const path of ['/api/metrics/summary', '/api/metrics/endpoints'])
          expect((await other.get(path)).status, `${role} ${path}`).to.equal(reads);
        for (const path of ['/api/metrics', '/api/metrics/prometheus'])
          expect((await other.get(path)).status, `${role} ${path}`).to.equal(403);
        expect((await other.post('/api/metrics/reset')).status).to.equal(403);
      }
      for (const path of ['/api/metrics', '/api/metrics/summary', '/api/metrics/endpoints', '/api/metrics/prometheus'])
        expect((await new Http(service.run.api).get(path)).status, path).to.equal(401);
      expect((await new Http(service.run.api).get('/api/metrics/health')).status).to.equal(200);
    });

    it('are Prometheus text for who has METRICS_TOKEN, and for an admin', async () => {
      expect((await new Http(service.run.api, `${TOKEN}x`).get('/api/metrics/prometheus')).status).to.equal(401);
      for (const http of [new Http(service.run.api, TOKEN), root]) {
        const { status, headers, text } = await http.get('/api/metrics/prometheus');
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
        expect(text).to.match(
          /^http_requests_total\{method="GET",route="\/api\/studies\/\{study_id\}",status="404"\} 4$/m,
        );
        expect(text)
          .to.match(/^# TYPE http_request_duration_seconds histogram$/m)
          .and.match(/^process_resident_memory_bytes \d+/m);
        const buckets = [
          ...text.matchAll(
            /^http_request_duration_seconds_bucket\{method="GET",route="\/api\/studies",le="([^"]+)"\} (\d+)$/gm,
          ),
        ].map(([, le, value]) => [le, Number(value)] as const);
        expect(buckets.at(-1)).to.deep.equal(['+Inf', 12]);
        for (const [i, [, value]] of buckets.entries()) if (i > 0) expect(value).to.be.at.least(buckets[i - 1]![1]);
      }
    });
  });

  describe('By what operators know a participant in Temporal', () => {
    it('with TEMPORAL_PARTICIPANT_CODES the participant’s code as well', async () => {
      const stage = await Stage.open(service.run);
      try {
        const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
        const participant_code = unique('PSEUDONYM');
        const person = await study.person({ participant_code });
        await until(async () =>
          expect(await attributes(stage, person)).to.deep.include({ ParticipantCode: [participant_code] }),
        );
        const shown = await details(stage, person);
        expect(shown).to.contain(`participant ${participant_code}`);
        expect(shown).to.contain(`(https://research.example.org/console/participants/${person.id}?tab=timeline)`);
        const corrected = unique('CORRECTED');
        await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { participant_code: corrected });
        await until(async () =>
          expect(await attributes(stage, person)).to.deep.include({ ParticipantCode: [corrected] }),
        );
        expect(await details(stage, person)).to.contain(`participant ${corrected}`);
      } finally {
        await stage.close();
      }
    });
  });

  describe('Where payloads must be sealed', () => payloadsMustBeSealed(() => service.run));
}
