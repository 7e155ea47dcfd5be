import { expect } from 'chai';
import { Stage, synced } from './support.js';

const EVENT = 'baseline_arm_1';

describe('the time of a survey as enrollment date', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const mapping = { enrollment_date: 'enroll_timestamp', email: 'mail' };
  const connected = async (survey: boolean) => {
    const study = await stage.study({
      project: {
        instruments: [
          { name: 'enroll', label: 'Enrollment', survey },
          { name: 'cognition', label: 'Cognition' },
        ],
      },
      config: { participant_field_mapping: mapping },
    });
    const load = (record: string, time: string) =>
      stage.simulator.control.load(Number(study.projectId), [
        { subject_id: record, redcap_event_name: EVENT, mail: 'a@example.org', enroll_timestamp: time },
      ]);
    return { study, load };
  };

  it('is read by trigger and by sync; of a survey that is not completed there is none yet', async () => {
    const { study, load } = await connected(true);
    load('one', '2026-01-12 09:30:00');
    load('two', '2026-01-13 23:59:59');
    load('three', '[not completed]');
    expect((await study.configure({ participant_field_mapping: mapping }, '?strict=true')).status).to.equal(200);
    await study.trigger({ record: 'one', redcap_event_name: EVENT });
    const [event] = await study.settled(1);
    expect([event!.outcome, event!.warnings]).to.deep.equal(['created', []]);
    expect((await synced(study)).progress).to.include({ created: 2, unchanged: 1, failed: 0 });
    const dates = async () =>
      Object.fromEntries((await study.participants()).map((each) => [each.external_id, each.enrollment_date]));
    expect(await dates()).to.deep.equal({ one: '2026-01-12', two: '2026-01-13', three: null });
    load('three', '2026-01-14 08:00:00');
    await study.trigger({ record: 'three', redcap_event_name: EVENT });
    await study.settled(2);
    expect(await dates()).to.deep.equal({ one: '2026-01-12', two: '2026-01-13', three: '2026-01-14' });
  });

  it('of a form that is no survey is named, and nobody is enrolled without it', async () => {
    const { study, load } = await connected(false);
    load('one', '');
    await study.trigger({ record: 'one', redcap_event_name: EVENT });
    const [event] = await study.settled(1);
    expect(event!.error).to.match(/^FIELD_NOT_EXPORTED: .*"enroll_timestamp"/);
  });
});
