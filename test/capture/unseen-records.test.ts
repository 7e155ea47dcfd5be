import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { until } from '../support/service.js';
import { PushStage } from './push-stage.js';
import { Stage } from './support.js';

const GROUP = { unique_group_name: 'north', data_access_group_name: 'North' };

/** A second user of a project, who only sees the records of one group. @returns its token */
function memberOf(stage: Stage | PushStage, projectId: number): string {
  const { design } = stage.simulator.control.project(projectId);
  const token = randomUUID().replaceAll('-', '').toUpperCase();
  design.groups.push(GROUP);
  design.users.push({ ...design.users[0]!, username: 'member', token, data_access_group: GROUP.unique_group_name });
  return token;
}

describe('a record that the token does not see', () => {
  let pushes: PushStage;
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    pushes = await PushStage.set();
    stage = await Stage.set({ polls: false });
  });
  after(async () => {
    await pushes?.clear();
    await stage?.clear();
  });

  it('gets its results by itself once a token is saved that does', async () => {
    const study = await pushes.study();
    await study.configure({ api_token: memberOf(pushes, study.projectId) });
    const { session, record } = await study.ended();
    const refused = await study.attempt(session, ({ status }) => status === 'failed', 'a refused attempt');
    expect(refused.message).to.match(/^RECORD_NOT_FOUND: .*the token may not see it/);
    await study.configure({ api_token: study.token });
    await study.synced(session);
    expect(study.standing(record!)).to.include({ mean_rt: '412.35' });
  });

  it('has its trigger processed then, too, though nothing is polled', async () => {
    const study = await stage.study({ config: { poll_interval_minutes: 0 } });
    await study.configure({ api_token: memberOf(stage, Number(study.projectId)) });
    await study.enroll('R1', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]!.error).to.match(/^RECORD_NOT_FOUND: .*the token may not see it/);
    await study.configure({ api_token: study.token });
    await until(async () => ((await study.events())[0]!.status === 'processed' ? true : undefined), {
      what: 'the trigger to be processed',
    });
    expect((await study.participants()).map(({ external_id }) => external_id)).to.deep.equal(['R1']);
  });
});
