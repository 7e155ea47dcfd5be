import { expect } from 'chai';
import { startSimulator } from '../capture-simulator/server.js';
import { until } from '../support/service.js';
import { EVENT, PushStage } from './push-stage.js';
import { Stage, syncReport } from './support.js';
import type { CaptureStudy } from './support.js';

describe('a token that is saved while the former one is at work', function () {
  this.timeout(120_000);
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

  const begun = ({ simulator }: Pick<Stage, 'simulator'>) =>
    until(() => simulator.control.faults()[0]!.done === 1, { what: 'the call to begin' });
  const statusOf = async (study: CaptureStudy) => (await stage.call('GET', `/api/datacapture/status/${study.id}`)).body;

  it('is untested after a sync that the former one has completed', async () => {
    const study = await stage.study({ config: { poll_interval_minutes: 0 } });
    await study.enroll('1', { enrolled: '2026-01-15' }, { trigger: false });
    // The list of the records is spared.
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: ['record'], skip: 1, times: 1, hold: true },
    ]);
    const started = await stage.call<{ sync_id: string }>('POST', `/api/datacapture/sync/${study.id}`);
    expect(started.status).to.equal(202);
    await begun(stage);
    expect((await study.configure({ api_token: 'F'.repeat(32) })).status).to.equal(200);
    stage.simulator.control.clearFaults();
    const report = await until(
      async () => {
        const now = await syncReport(study, started.body.sync_id);
        return now.status === 'running' ? undefined : now;
      },
      { what: 'the sync to end' },
    );
    expect(report).to.include({ status: 'completed' });
    expect(report.progress).to.include({ created: 1 });
    expect(await statusOf(study)).to.include({ sync_status: 'pending', sync_error_message: null });
  });

  it('is untested after a test of the former one, which found its project or no answer', async () => {
    for (const [answer, told] of [
      [{}, 200],
      [{ status: 503 }, 400],
    ] as const) {
      const study = await stage.study({ config: { poll_interval_minutes: 0 } });
      stage.simulator.control.setFaults([
        { project_id: Number(study.projectId), content: ['project'], times: 1, hold: true, ...answer },
      ]);
      const path = `/api/datacapture/config/${study.id}`;
      const testing = stage.call('POST', `${path}/test-connection`);
      await begun(stage);
      expect((await study.configure({ api_token: 'F'.repeat(32), project_id: '4242' })).status).to.equal(200);
      stage.simulator.control.clearFaults();
      expect((await testing).status).to.equal(told);
      expect(await statusOf(study)).to.include({ sync_status: 'pending', sync_error_message: null });
      expect((await stage.call('GET', path)).body.project_id).to.equal('4242');
    }
  });

  it('has no fault of a push that the former one was refused, or left without an answer', async () => {
    const study = await pushes.study();
    study.fault({ content: ['record:export'], status: 503, hold: true, times: 1 });
    const { session } = await study.ended();
    await begun(pushes);
    await study.configure({ api_token: study.token });
    study.fault();
    await study.synced(session);
    expect((await study.attempts(session)).map(({ error_type }) => error_type)).to.deep.equal(['http_error', null]);
    expect(await study.status()).to.include({ sync_status: 'pending', sync_error_message: null });
  });

  it('and an address: what is being delivered to the former server is delivered to the new one too', async () => {
    const study = await pushes.study();
    const server = await startSimulator({ projects: [] });
    try {
      study.fault({ content: ['record:import'], hold: true, times: 1 });
      const { session, record } = await study.ended();
      await begun(pushes);
      study.copyTo(server);
      await study.configure({ api_url: server.apiUrl, api_token: study.token });
      study.fault();
      await study.synced(session);
      const standing = server.control.record(study.projectId, record!)?.rows.find(({ event }) => event === EVENT);
      expect(standing?.values).to.include({ trials: '40' });
    } finally {
      await server.stop();
    }
  });

  it('of another project on the same server: what is being delivered to the former one is delivered there too', async () => {
    const [study, other] = [await pushes.study(), await pushes.study(null)];
    study.fault({ content: ['record:import'], hold: true, times: 1 });
    const { session, record } = await study.ended();
    await begun(pushes);
    other.exists(record!);
    await study.configure({ api_token: other.token });
    study.fault();
    await until(() => other.standing(record!)?.['trials'] === '40', { what: 'the results in the other project' });
    await study.synced(session);
    expect(study.standing(record!)).to.include({ trials: '40' });
  });
});
