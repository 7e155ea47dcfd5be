import { expect } from 'chai';
import { until } from '../support/until.js';
import { PushStage } from './push-stage.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const AWAY_SECONDS = 3;
/** How a proxy or the capture system asks for patience. */
const answers = {
  'a 429 with seconds': () => ({ status: 429, retry_after: String(AWAY_SECONDS) }),
  'a 429 with a date': () => ({
    status: 429,
    retry_after: new Date(Math.ceil(Date.now() / 1000) * 1000 + AWAY_SECONDS * 1000).toUTCString(),
  }),
  'a 503 with seconds': () => ({ status: 503, retry_after: String(AWAY_SECONDS) }),
};

describe('a capture system that asks to be called less often', function () {
  this.timeout(180_000);
  let stage: Stage;
  let pushes: PushStage;
  before(async function () {
    this.timeout(240_000);
    [stage, pushes] = [await Stage.set(), await PushStage.set()];
  });
  after(async () => {
    await stage?.clear();
    await pushes?.clear();
  });

  const callsOf = (study: CaptureStudy, since = 0) =>
    stage.simulator.control.calls(Number(study.projectId)).slice(since);
  const count = (study: CaptureStudy) => callsOf(study).length;
  /** Between the first refused call and the next call to the project. */
  const waitedMs = (calls: { at: string; status: number | null }[]) => {
    const refused = calls.findIndex(({ status }) => status === 429 || status === 503);
    return Date.parse(calls[refused + 1]!.at) - Date.parse(calls[refused]!.at);
  };

  for (const [name, fault] of Object.entries(answers)) {
    it(`${name}: a push waits as long as asked, says so, and goes out`, async () => {
      const study = await pushes.study();
      study.fault({ ...fault(), content: ['record:import'], times: 1 });
      const { session, record } = await study.ended();
      const first = await study.attempt(session, () => true, 'the first attempt');
      expect(first).to.include({ status: 'failed', error_type: 'http_error' });
      expect(first.message).to.match(/asks to be called less often \((429|503)\)/);
      expect(Date.parse(first.next_attempt_at!) - Date.parse(first.at)).to.be.at.least((AWAY_SECONDS - 1) * 1000);
      const page = await fetch(`${pushes.run.api}/api/studies/${study.id}/push-failures`, {
        headers: { Authorization: `Bearer ${study.http.token}` },
      });
      expect(((await page.json()) as { items: { final: boolean }[] }).items[0]).to.include({ final: false });
      await study.synced(session);
      expect(study.writes(record!)).to.have.length(1);
      expect(waitedMs(pushes.simulator.control.calls(study.projectId))).to.be.at.least((AWAY_SECONDS - 1) * 1000);
    });

    it(`${name}: a trigger waits as long as asked, the state says so, and it is processed`, async () => {
      const study = await stage.study();
      const before = count(study);
      stage.simulator.control.setFaults([{ ...fault(), project_id: Number(study.projectId), times: 1 }]);
      await study.enroll('1', { enrolled: '2026-01-15' });
      const status = await until(
        async () => {
          const { body } = await stage.call('GET', `/api/datacapture/status/${study.id}`);
          return body['sync_status'] === 'error' ? body : undefined;
        },
        { what: 'the state of the connection' },
      );
      expect(status['sync_error_message']).to.match(/called again after \d s/);
      await study.settled(1, 60_000);
      expect((await study.events())[0]).to.include({ status: 'processed', outcome: 'created', error: null });
      expect(waitedMs(callsOf(study, before))).to.be.at.least((AWAY_SECONDS - 1) * 1000);
      const { body: after } = await stage.call('GET', `/api/datacapture/status/${study.id}`);
      expect(after).to.include({ sync_status: 'active', sync_error_message: null });
    });
  }

  it('each call of a sync may be put off: it waits, and reads everything', async () => {
    for (const content of ['project', 'metadata', 'record']) {
      const study = await stage.study();
      await study.enroll('1', { enrolled: '2026-01-15' }, { trigger: false });
      const before = count(study);
      stage.simulator.control.setFaults([
        { project_id: Number(study.projectId), content: [content], status: 429, retry_after: '2', times: 1 },
      ]);
      const report = await synced(study);
      expect(report, content).to.include({ status: 'completed' });
      expect(report.progress, content).to.include({ created: 1 });
      const calls = callsOf(study, before);
      if (calls.some(({ status }) => status === 429)) expect(waitedMs(calls), content).to.be.at.least(1_000);
    }
  });

  it('a question of a person waits while its caller does, and then says when', async () => {
    const study = await stage.study();
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: ['event'], status: 429, retry_after: '2', times: 1 },
    ]);
    const events = await stage.call('GET', `/api/datacapture/config/${study.id}/events`);
    expect(events.status, JSON.stringify(events.body)).to.equal(200);
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), status: 429, retry_after: '600', times: 1 },
    ]);
    const refused = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    expect(refused.status).to.equal(400);
    expect(refused.body['detail']).to.match(/^Connection failed: .*after 600 s/);
    const again = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    expect(again.status, 'the limit may have been lifted').to.equal(200);
  });
});
