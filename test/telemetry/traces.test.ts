import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { Stage as CaptureStage } from '../capture/support.js';
import { formOf } from '../data/stage.js';
import { newParticipant, newStudy, unique } from '../support/http.js';
import { freePort } from '../support/ports.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { Collector } from './collector.js';
import type { Span } from './collector.js';

interface Listed {
  items: { rows: number; signature: string }[];
}

describe('Traces, where OTEL_EXPORTER_OTLP_ENDPOINT is set', function traces() {
  this.timeout(180_000);
  let collector: Collector, service: Service, stage: Stage, person: Person, metricsPort: number;
  const secret = unique('zora').replace('-', '');

  before(async () => {
    collector = await Collector.open();
    metricsPort = await freePort();
    service = await startService({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_SERVICE_NAME: 'a-study',
      WORKER_METRICS_PORT: String(metricsPort),
      AUDIT_CHECKPOINT_SECONDS: '0.5',
    });
    stage = await Stage.open(service.run);
    person = await (
      await stage.study({ prerequisites: { require_consent_signed: true } })
    ).person({ email: `${secret}@example.org` });
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
    await collector?.close();
  });

  const traceOf = (id: string): string => `00-${id}-00f067aa0ba902b7-01`;
  /** Waits until the trace has spans of such names, and answers those. */
  const spans = (trace: string, ...names: RegExp[]): Promise<Span[]> =>
    until(
      () => {
        const found = names.map((name) => collector.of(trace).find((span) => name.test(span.name)));
        if (found.some((span) => span === undefined))
          throw new Error(`there are ${JSON.stringify(collector.of(trace).map((span) => span.name))}`);
        return found as Span[];
      },
      { what: `spans ${names.join()}` },
    );
  /** Every span but the first hangs on another one of its trace, which may be sent after it. */
  const hangTogether = (trace: string): Promise<boolean> =>
    until(
      () => {
        const all = collector.of(trace),
          ids = new Set(all.map(({ id }) => id));
        const loose = all.filter(
          ({ parent }) => parent !== '00f067aa0ba902b7' && !(parent !== undefined && ids.has(parent)),
        );
        // A workflow's own span ends with the workflow.
        expect(
          loose
            .filter(({ name }) => !/^(HandleUpdate|HandleSignal|StartActivity|RunActivity|ValidateUpdate)/.test(name))
            .map(({ name }) => name),
        ).to.deep.equal([]);
        return true;
      },
      { what: 'every span to hang on another' },
    );

  it('one leads from the caller’s through request and update to workflow and activity', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const path = `/api/studies/${person.study.id}/participants/${person.id}/anchor-date`;
    await stage.admin.expect(
      200,
      'POST',
      path,
      { enrollment_date: '2024-03-10', reason: `${secret} said so` },
      { headers: { traceparent: traceOf(trace) } },
    );
    const [request, update, activity] = await spans(
      trace,
      /^POST \/api\/studies\/\{study_id\}\/participants\/\{participant_id\}\/anchor-date$/,
      /^UpdateWithStartWorkflow:/,
      /^RunActivity:/,
    );
    expect(request).to.deep.include({ parent: '00f067aa0ba902b7', part: 'api' });
    expect(request!.attributes).to.include({ 'http.request.method': 'POST', 'http.response.status_code': 200 });
    expect(update).to.include({ parent: request!.id, part: 'api' });
    expect(activity).to.include({ part: 'worker' });
    await hangTogether(trace);
  });

  it('one leads over a committed message to the workflow that it wakes', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const path = `/api/studies/${person.study.id}/participants/${person.id}/consents`;
    await stage.admin.expect(
      201,
      'POST',
      path,
      { status: 'signed', signed_at: '2024-03-01T09:00:00Z' },
      { headers: { traceparent: traceOf(trace) } },
    );
    const [, signal, activity] = await spans(trace, /^POST .*consents$/, /^SignalWithStartWorkflow:/, /^RunActivity:/);
    expect([signal!.part, activity!.part]).to.deep.equal(['worker', 'worker']);
  });

  it('one leads from a trigger of the capture system over the inbox to its workflow, its activity and the participant', async () => {
    const capture = await CaptureStage.on(service.run);
    try {
      const study = await capture.study();
      const record = unique('R');
      await study.enroll(record, { enrolled: '2024-03-10' }, { trigger: false });
      // Two at once share a statement: each keeps its own trace.
      const traces = ['0b1e6b7c5d4f43218a9b0c1d2e3f4a51', '0b1e6b7c5d4f43218a9b0c1d2e3f4a52'] as const;
      const bodies = traces.map((trace, i) => ({
        trace,
        body: new URLSearchParams({
          project_id: study.projectId,
          instrument: 'enroll',
          record: i === 0 ? record : `${record}x`,
        }).toString(),
      }));
      const answers = await Promise.all(
        bodies.map(({ trace, body }) =>
          study.trigger({}, { body, headers: { ...study.signature(body), traceparent: traceOf(trace) } }),
        ),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      await study.settled(2);
      for (const trace of traces) {
        const [request, start, run, activity] = await spans(
          trace,
          /^POST \/api\/webhooks\/datacapture\/det$/,
          /^StartWorkflow:datacaptureTrigger$/,
          /^RunWorkflow:datacaptureTrigger$/,
          /^RunActivity:processTrigger$/,
        );
        expect(request).to.deep.include({ parent: '00f067aa0ba902b7', part: 'api' });
        expect(start).to.include({ parent: request!.id, part: 'worker' });
        expect(run).to.include({ parent: start!.id, part: 'worker' });
        expect(activity!.part).to.equal('worker');
        await hangTogether(trace);
      }
      await spans(traces[0], /^StartWorkflow:participantAnchor$/, /^RunActivity:applyAnchorCommand$/);
      expect(
        collector.of(traces[1]).some(({ name }) => name.endsWith('participantAnchor')),
        'the other has no participant',
      ).to.equal(false);
      expect(collector.text.includes(record), 'a record is not named').to.equal(false);
    } finally {
      await capture.clear();
    }
  });

  it('one leads from an import over its messages to the workflows of its participants', async () => {
    const trace = '1c2d3e4f5a6b47788990a1b2c3d4e5f6';
    const raw = await formOf(`participant_code\n${unique('IMP')}\n`);
    await stage.admin.expect(200, 'POST', `/api/studies/${person.study.id}/participants/import/csv`, undefined, {
      raw,
      headers: { traceparent: traceOf(trace) },
    });
    const [request, start] = await spans(trace, /^POST .*participants\/import\/csv$/, /Workflow:participantAnchor$/);
    expect(start).to.include({ parent: request!.id, part: 'worker' });
  });

  it('a request without a trace begins one of its own; a fault is told by its status alone', async () => {
    await stage.admin.get(`/api/participants?search=${secret}`);
    await stage.admin.post(`/api/studies/${person.study.id}/participants`, {
      participant_code: 'x',
      email: `${secret}@`,
    });
    const refused = await until(
      () =>
        collector.spans.find(
          (span) =>
            span.name === 'POST /api/studies/{study_id}/participants' &&
            span.attributes['http.response.status_code'] === 422,
        ),
      { what: 'the span of a refusal' },
    );
    expect(refused.parent ?? '').to.equal('');
    const [, login] = [
      await until(() => collector.spans.some((span) => span.name === 'GET /api/participants'), {
        what: 'the span of a list',
      }),
      collector.spans.find((span) => span.name === 'POST /api/auth/login'),
    ];
    expect(login, 'every request has one').not.to.equal(undefined);
    expect(collector.text).to.contain('a-study');
    expect(collector.text.includes(secret), 'nobody is named').to.equal(false);
  });

  describe('The metrics of audit checkpoints', () => {
    it('say that they are not kept outside, as long as they are not', async () => {
      const failing = async () =>
        /^audit_checkpoints_failing (\d)$/m.exec(
          await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
        )?.[1];
      const { admin: http } = stage;
      const study = await newStudy(http);
      const file = join(service.dataDir, 'audit-checkpoints', `${study.id as string}.ndjson`);
      await until(() => existsSync(file) || undefined, { what: 'the first checkpoint of the study' });
      expect(await failing()).to.equal('0');

      // What cannot be written to, also by the user who may write everywhere.
      await until(() => {
        renameSync(file, `${file}.aside`);
        mkdirSync(file);
        return true;
      });
      await newParticipant(http, study.id);
      await until(async () => (await failing()) === '1' || undefined, { what: 'the metric to say so' });
      // Chains before and after it are signed all the same.
      for (const other of [await newStudy(http), await newStudy(http)])
        await until(() => existsSync(join(service.dataDir, 'audit-checkpoints', `${other.id as string}.ndjson`)), {
          what: 'a checkpoint of another study',
        });

      rmSync(file, { recursive: true });
      renameSync(`${file}.aside`, file);
      await until(async () => (await failing()) === '0' || undefined, { what: 'the metric to say that it is over' });
      const { items } = await http.expect<Listed>(200, 'GET', `/api/audit/checkpoints?study_id=${study.id as string}`);
      const outside = () =>
        readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { signature: string }).signature);
      await until(() => items.every(({ signature }) => outside().includes(signature)), {
        what: 'every checkpoint to be outside',
      });
      expect(outside()).to.include.members(items.map(({ signature }) => signature));
    });
  });
});
