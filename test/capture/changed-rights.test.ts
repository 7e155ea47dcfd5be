import { expect } from 'chai';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { polled } from './polling.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

const ROW = {
  subject_id: 'a',
  redcap_event_name: 'baseline_arm_1',
  enrolled: '2026-01-15',
  lang: 'de',
  enroll_complete: '2',
};

/** The same token all the time: what its user may export is changed by people of the capture system. */
describe('records that the token could not read for a while, and that do not change any more', function () {
  let stage: Stage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set();
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

  const projectOf = (study: CaptureStudy) => stage.simulator.control.project(Number(study.projectId));
  const userOf = (study: CaptureStudy) => projectOf(study).design.users[0]!;
  /** Loads a row that was changed longer ago than polls look back. */
  const load = (study: CaptureStudy, row: Record<string, string> = {}) => {
    const loaded = { ...ROW, ...row };
    stage.simulator.control.load(Number(study.projectId), [loaded]);
    projectOf(study).store.get(loaded.subject_id)!.modifiedAt = '2026-01-01 12:00:00';
  };
  const seen = async (study: CaptureStudy) =>
    (await study.participants()).map(({ external_id, enrollment_date }) => [external_id, enrollment_date]);

  it('one whose form was not exported is enrolled by the next poll after it is', async () => {
    const study = await stage.study();
    load(study);
    userOf(study).no_export = ['enroll'];
    const refused = await polled(temporal, study, 0);
    expect(refused.issues.items.map(({ issues }) => issues[0]!.code)).to.deep.equal(['INSTRUMENT_NOT_EXPORTED']);
    // It is told each time, as long as it lasts.
    expect((await polled(temporal, study, 1)).issues.items.map(({ record }) => record)).to.deep.equal(['a']);
    userOf(study).no_export = [];
    expect((await polled(temporal, study, 2)).progress).to.include({ created: 1 });
    expect(await seen(study)).to.deep.equal([['a', '2026-01-15']]);
    expect((await polled(temporal, study, 3)).progress, 'and not again').to.include({ total: 0 });
  });

  for (const [what, withhold, grant] of [
    [
      'its form was not exported',
      (study: CaptureStudy) => void (userOf(study).no_export = ['enroll']),
      (study: CaptureStudy) => void (userOf(study).no_export = []),
    ],
    [
      'its date was not exported',
      (study: CaptureStudy) => void (userOf(study).export_deidentified = true),
      (study: CaptureStudy) => void (userOf(study).export_deidentified = false),
    ],
  ] as const)
    it(`another date of a participant’s record that came while ${what} is taken by the next poll after it is`, async () => {
      const study = await stage.study({ study: { consent_mode: 'econsent' } });
      load(study);
      await polled(temporal, study, 0);
      expect(await seen(study)).to.deep.equal([['a', '2026-01-15']]);
      withhold(study);
      stage.simulator.control.load(Number(study.projectId), [{ ...ROW, enrolled: '2026-01-20' }]);
      expect((await polled(temporal, study, 1)).issues.total).to.equal(1);
      load(study, { enrolled: '2026-01-20' });
      grant(study);
      await polled(temporal, study, 2);
      expect(await seen(study)).to.deep.equal([['a', '2026-01-20']]);
      expect((await polled(temporal, study, 3)).progress, 'and not again').to.include({ total: 0 });
    });

  it('one of another data access group is enrolled by the next poll after the user sees all groups', async () => {
    const study = await stage.study();
    load(study);
    userOf(study).data_access_group = 'site_north';
    expect((await polled(temporal, study, 0)).progress).to.include({ total: 0 });
    userOf(study).data_access_group = null;
    expect((await polled(temporal, study, 1)).progress).to.include({ created: 1 });
    expect(await seen(study)).to.deep.equal([['a', '2026-01-15']]);
    expect((await polled(temporal, study, 2)).progress, 'and not again').to.include({ total: 0 });
  });

  it('and so is one whose trigger came meanwhile, and did not find it', async () => {
    const study = await stage.study();
    load(study, { subject_id: 'known' });
    load(study);
    userOf(study).data_access_group = 'site_north';
    await study.trigger({ record: 'a', redcap_event_name: 'baseline_arm_1' });
    expect((await study.settled(1))[0]!.error).to.match(/^RECORD_NOT_FOUND: /);
    expect((await polled(temporal, study, 0)).progress).to.include({ total: 0 });
    userOf(study).data_access_group = null;
    expect((await polled(temporal, study, 1)).progress).to.include({ created: 2 });
    expect((await polled(temporal, study, 2)).progress, 'and not again').to.include({ total: 0 });
  });
});
