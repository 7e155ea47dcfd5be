import { expect } from 'chai';
import { until } from '../support/until.js';
import { PushStage } from './push-stage.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const AWAY_SECONDS = 3,
  /** For a date: some of the time has gone by when the answer is given. */
  AWAY_AT_MOST_SECONDS = 10;
/** How a proxy or the capture system asks for patience. */
const answers = {
  'a 429 with seconds': () => ({ status: 429, retry_after: String(AWAY_SECONDS) }),
  'a 429 with a date': () => ({
    status: 429,
    retry_after: new Date(Date.now() + AWAY_AT_MOST_SECONDS * 1000).toUTCString(),
  }),
  'a 503 with seconds': () => ({ status: 503, retry_after: String(AWAY_SECONDS) }),
};

describe('a capture system that asks to be called less often', function () {
  this.timeout(180_000);
  let stage: Stage;
  let pushes: PushStage;
  before(async function () {
    this.timeout(240_000);
    [stage, pushes] = [await Stage.set({ polls: false }), await PushStage.set()];
  });
  after(async () => {
    await stage?.clear();
    await pushes?.clear();
  });

  const callsOf = (study: CaptureStudy, since = 0) =>
    stage.simulator.control.calls(Number(study.projectId)).slice(since);
  const count = (study: CaptureStudy) => callsOf(study).length;
  /** When the next call may come at the earliest, in milliseconds; a second less than was asked for. */
  const earliest = (after: string, asked: string) =>
    (/^\d+$/.test(asked) ? Date.parse(after) + Number(asked) * 1000 : Date.parse(asked)) - 1000;
  /** The call to the project after the first refused one comes no earlier than asked for. */
  const patient = (calls: { at: string; status: number | null }[], asked: string) => {
    const refused = calls.findIndex(({ status }) => status === 429 || status === 503);
    expect(Date.parse(calls[refused + 1]!.at)).to.be.at.least(earliest(calls[refused]!.at, asked));
  };

  for (const [name, fault] of Object.entries(answers)) {
    it(`${name}: a push waits as long as asked, says so, and goes out`, async () => {
      const study = await pushes.study();
      const asked = fault();
      // Until it is seen that the push waits.
      study.fault({ ...asked, content: ['record:import'] });
      const { session, record } = await study.ended();
      const first = await study.attempt(session, () => true, 'the first attempt');
      expect(first).to.include({ status: 'failed', error_type: 'http_error' });
      expect(first.message).to.match(/asks to be called less often \((429|503)\)/);
      expect(Date.parse(first.next_attempt_at!)).to.be.at.least(earliest(first.at, asked.retry_after));
      const page = await fetch(`${pushes.run.api}/api/studies/${study.id}/push-failures`, {
        headers: { Authorization: `Bearer ${study.http.token}` },
      });
      expect(((await page.json()) as { items: { final: boolean }[] }).items[0]).to.include({ final: false });
      study.fault();
      await study.synced(session);
      expect(study.writes(record!)).to.have.length(1);
      patient(pushes.simulator.control.calls(study.projectId), asked.retry_after);
    });

    it(`${name}: a trigger waits as long as asked, the state says so, and it is processed`, async () => {
      const study = await stage.study();
      const before = count(study);
      const asked = fault();
      // Until it is seen that the trigger waits.
      stage.simulator.control.setFaults([{ ...asked, project_id: Number(study.projectId) }]);
      await study.enroll('1', { enrolled: '2026-01-15' });
      const status = await until(
        async () => {
          const { body } = await stage.call('GET', `/api/datacapture/status/${study.id}`);
          return body['sync_status'] === 'error' ? body : undefined;
        },
        { what: 'the state of the connection' },
      );
      expect(status['sync_error_message']).to.match(/called again after \d+ s/);
      stage.simulator.control.clearFaults();
      await study.settled(1, 60_000);
      expect((await study.events())[0]).to.include({ status: 'processed', outcome: 'created', error: null });
      patient(callsOf(study, before), asked.retry_after);
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
      if (calls.some(({ status }) => status === 429)) patient(calls, '2');
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
