import { expect } from 'chai';
import { Stage } from './support.js';

const ARMS = Array.from({ length: 12 }, (_, index) => index + 1);

describe('a project of twelve arms', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('has an enrollment event in each of them, also where these get long names', async () => {
    const study = await stage.study({
      project: {
        arms: ARMS.map((arm_num) => ({ arm_num, name: `Arm ${arm_num}` })),
        events: ARMS.map((arm_num) => ({ event_name: 'Baseline', arm_num, forms: ['enroll', 'cognition'] })),
      },
      connect: false,
    });
    const former = ARMS.map((arm) => `baseline_arm_${arm}`);
    await study.connect({
      enrollment_event: former.join(','),
      event_battery_mapping: study.mapped(Object.fromEntries(former.map((name) => [name, { target_day: 0 }]))),
      poll_interval_minutes: 0,
    });
    const { control } = stage.simulator;
    for (const name of former) control.renameEvent(Number(study.projectId), name, 'Examination before all');
    const synced = await stage.call<{ renamed: object[] }>('POST', `/api/studies/${study.id}/datacapture/sync-events`);
    expect([synced.status, synced.body.renamed.length]).to.deep.equal([200, 12]);
    const names = ARMS.map((arm) => `examination_before_arm_${arm}`);
    const config = (await stage.call('GET', `/api/datacapture/config/${study.id}`)).body;
    expect((config['enrollment_event'] as string).split(',')).to.deep.equal(names);
    const saved = await study.configure({ enrollment_event: names.join(', ') }, '?strict=true');
    expect(saved.status, JSON.stringify(saved.body)).to.equal(200);
    await study.enroll('last', { enrolled: '2026-01-15' }, { event: names.at(-1)! });
    await study.settled(1);
    const visits = await stage.sql<{ datacapture_event: string }>(
      'select datacapture_event from scheduled_visits where study_id = ?',
      [study.id],
    );
    expect(visits.map(({ datacapture_event }) => datacapture_event)).to.deep.equal([names.at(-1)]);
  });
});
