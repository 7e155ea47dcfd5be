import { expect } from 'chai';
import { until } from '../support/until.js';
import { Stage, syncReport } from './support.js';
import type { CaptureStudy } from './support.js';

describe('datacapture_enabled switched off while something waits for the capture system', function () {
  this.timeout(240_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const change = async (study: CaptureStudy, datacapture_enabled: boolean) =>
    expect((await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled })).status).to.equal(200);
  const calls = (study: CaptureStudy) => stage.simulator.control.calls(Number(study.projectId));
  const away = (study: CaptureStudy) =>
    stage.simulator.control.setFaults([{ project_id: Number(study.projectId), status: 503 }]);
  const asked = (study: CaptureStudy) =>
    until(() => calls(study).some(({ status }) => status === 503), { what: 'the first call' });

  it('a trigger that was accepted ends with the reason, is not retried meanwhile, and goes on when it is on again', async () => {
    const study = await stage.study();
    away(study);
    await study.enroll('r1', { enrolled: '2026-01-15' });
    await asked(study);
    await change(study, false);
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'failed', outcome: null, participant_id: null });
    expect(event!.error).to.match(/^DATACAPTURE_DISABLED: /);
    const before = calls(study).length;
    const retried = await stage.call('POST', `/api/webhook-events/${event!.id}/retry`);
    expect([retried.status, retried.body['code']]).to.deep.equal([409, 'DATACAPTURE_DISABLED']);
    expect(calls(study)).to.have.length(before);
    stage.simulator.control.clearFaults();
    await change(study, true);
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created', error: null });
    expect((await study.participants()).map((one) => one.external_id)).to.deep.equal(['r1']);
  });

  it('a sync that runs ends with the reason; the connection is no worse for it', async () => {
    const study = await stage.study();
    await study.enroll('r1', { enrolled: '2026-01-15' }, { trigger: false });
    away(study);
    const started = await stage.call<{ sync_id: string }>('POST', `/api/datacapture/sync/${study.id}`);
    expect(started.status).to.equal(202);
    await asked(study);
    await change(study, false);
    const report = await until(
      async () => {
        const now = await syncReport(study, started.body.sync_id);
        return now.status === 'running' ? undefined : now;
      },
      { timeout: 90_000, what: 'the sync to end' },
    );
    stage.simulator.control.clearFaults();
    expect([report.status, report.error?.code]).to.deep.equal(['failed', 'DATACAPTURE_DISABLED']);
    expect(await study.participants()).to.deep.equal([]);
    expect((await stage.call('GET', `/api/datacapture/status/${study.id}`)).body).to.include({ sync_status: 'active' });
  });
});
