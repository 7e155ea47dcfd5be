import { expect } from 'chai';
import { until } from '../support/service.js';
import type { RunJson, Service } from '../support/service.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const LIMIT = 20;
/** Of the service on which they are tried. */
export const OF_TRIGGERS = {
  TRUST_PROXY: 'true',
  WEBHOOK_ALLOWED_IPS: '127.0.0.0/8,::1,10.1.0.0/16',
  WEBHOOK_RATE_LIMIT_PER_MINUTE: String(LIMIT),
};

/**
 * Triggers on a bad day of the service.
 * @param of one with the settings above
 */
export function triggersInOutages(of: () => Service): void {
  let service: Service;
  let stage: Stage;
  before(async () => {
    service = of();
    stage = await Stage.on(service.run, { polls: false });
  });
  after(() => stage?.clear());

  const pidOf = (name: keyof RunJson['pids']) => service.current().pids[name]!;
  const signed = (study: CaptureStudy, record: string, from: string) => {
    const body = new URLSearchParams({ project_id: study.projectId, instrument: 'enroll', record }).toString();
    return study.trigger({}, { body, headers: { ...study.signature(body), 'x-forwarded-for': from } });
  };

  it('are taken from the addresses of WEBHOOK_ALLOWED_IPS; from elsewhere 403, and nothing is stored', async () => {
    const study = await stage.study();
    expect((await signed(study, 'in', '10.1.2.3')).status).to.equal(200);
    expect((await signed(study, 'out', '10.2.0.1')).status).to.equal(403);
    expect((await study.events()).map((event) => event.record)).to.deep.equal(['in']);
    // Nobody else is told what a trigger has to be.
    for (const [type, body] of [
      [undefined, undefined],
      ['application/json', '{}'],
      ['application/x-www-form-urlencoded', ''],
    ]) {
      const headers = { 'x-forwarded-for': '10.2.0.1', ...(type && { 'content-type': type }) };
      const url = `${service.current().api}/api/webhooks/datacapture/det?nothing=1`;
      expect((await fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) })).status).to.equal(403);
    }
  });

  it('are taken while Temporal is down, and worked off when it is back', async () => {
    const study = await stage.study();
    const records = Array.from({ length: 8 }, (_, i) => `t${i}`);
    for (const record of records) await study.enroll(record, { enrolled: '2026-01-15' }, { trigger: false });
    const temporal = pidOf('temporal');
    process.kill(temporal, 'SIGKILL');
    const statuses = await Promise.all(records.map(async (record) => (await study.trigger({ record })).status));
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    const events = await study.settled(records.length, 120_000);
    expect(events.map((event) => [event.status, event.outcome])).to.deep.equal(
      records.map(() => ['processed', 'created']),
    );
    expect(pidOf('temporal'), 'it was really away').not.to.equal(temporal);
    expect((await study.participants()).map((p) => p.external_id).sort()).to.deep.equal(records);
  });

  it('survive a worker that is killed in the middle of them, and of a sync', async () => {
    const [study, other] = [await stage.study(), await stage.study()];
    await other.enroll('k', { enrolled: '2026-01-15' });
    await other.settled(1);
    await study.enroll('k', { enrolled: '2026-01-15' }, { trigger: false });
    stage.simulator.control.load(
      Number(other.projectId),
      ['k', 'l', 'm'].map((record) => ({
        subject_id: record,
        redcap_event_name: 'baseline_arm_1',
        enrolled: '2026-01-15',
        enroll_complete: '2',
      })),
    );
    // The first worker never gets an answer.
    stage.simulator.control.setFaults(
      [study, other].map(({ projectId }) => ({
        project_id: Number(projectId),
        content: ['record', 'record:export'],
        hold: true,
        times: 1,
      })),
    );
    await study.trigger({ record: 'k' });
    const reading = synced(other, 150_000);
    await until(() => stage.simulator.control.faults().every(({ done }) => done === 1), {
      what: 'both readings to begin',
    });
    expect((await study.events())[0]!.status).to.equal('processing');
    const worker = pidOf('worker');
    process.kill(worker, 'SIGKILL');
    await until(() => pidOf('worker') !== undefined && pidOf('worker') !== worker, {
      timeout: 60_000,
      what: 'the next worker',
    });
    const [event] = await study.settled(1, 150_000);
    expect(event).to.include({ status: 'processed', outcome: 'created', error: null });
    const [participant, ...others] = await study.participants();
    expect(others).to.deep.equal([]);
    expect(await study.versions(participant!.id)).to.have.length(1);

    const report = await reading;
    stage.simulator.control.clearFaults();
    expect(report.progress).to.include({ total: 3, done: 3, created: 2, unchanged: 1 });
    expect(await other.participants()).to.have.length(3);
  });

  it('a redirect of the capture system is not followed', async () => {
    const study = await stage.study();
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: ['project'], redirect: 'http://127.0.0.1:9/elsewhere', times: 1 },
    ]);
    const reply = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    stage.simulator.control.clearFaults();
    expect([reply.status, String(reply.body['detail'])]).to.satisfy(
      ([status, detail]: [number, string]) => status === 400 && /^Connection failed: .*redirects/.test(detail),
    );
  });

  it(`more than ${LIMIT} a minute of one project: 429 with Retry-After, and other projects go on`, async () => {
    const [study, other] = [await stage.study(), await stage.study()];
    const replies = await Promise.all(
      Array.from({ length: LIMIT + 5 }, () => study.trigger({ record: 'x', instrument: 'cognition' })),
    );
    const refused = replies.filter((reply) => reply.status === 429);
    expect([refused.length, replies.filter((reply) => reply.status === 200).length]).to.deep.equal([5, LIMIT]);
    expect(Number(refused[0]!.headers.get('retry-after'))).to.be.above(0);
    expect((await other.trigger({ record: 'x', instrument: 'cognition' })).status).to.equal(200);
    expect(await study.settled(LIMIT, 90_000)).to.have.length(LIMIT);
  });

  it('an address that sends triggers which no secret vouches for is refused, and projects behind it go on', async () => {
    const study = await stage.study();
    const unsigned = (n: number) =>
      study.trigger(
        {},
        {
          body: `project_id=${study.projectId}&instrument=enroll&record=f${n}`,
          headers: { 'x-forwarded-for': '10.1.9.9', 'x-webhook-signature': '0'.repeat(64) },
        },
      );
    const statuses: number[] = [];
    for (let n = 0; n < LIMIT + 2; n += 1) statuses.push((await unsigned(n)).status);
    expect([statuses.filter((status) => status === 401).length, statuses.slice(LIMIT)]).to.deep.equal([
      LIMIT,
      [429, 429],
    ]);
    expect((await signed(study, 'from elsewhere', '10.1.9.8')).status).to.equal(200);
    expect((await signed(study, 'from there', '10.1.9.9')).status).to.equal(200);
  });
}
