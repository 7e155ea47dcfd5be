import { expect } from 'chai';
import { Stage, synced } from './support.js';

const ROW = {
  subject_id: 'n',
  redcap_event_name: 'baseline_arm_1',
  enrolled: '2026-01-15',
  code: 'pasted\tfrom\nelse\u000bwhere, with a \\" and a \\',
  lang: 'de',
  mail: '',
  dob: '',
  arms___a: '0',
  arms___b: '0',
  enroll_complete: '2',
};

describe('control characters that the capture system leaves in the texts of its JSON', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('are read as they stand, by trigger and sync: one pasted note stops no other record', async () => {
    const study = await stage.study();
    const body = JSON.stringify([ROW], null, 1)
      .replaceAll('\\t', '\t')
      .replaceAll('\\n', '\n')
      .replaceAll('\\u000b', '\u000b');
    expect(() => JSON.parse(body) as unknown, 'a strict parser refuses it').to.throw(SyntaxError);
    stage.simulator.control.setFaults({ project_id: Number(study.projectId), content: ['record'], body });
    await study.enroll('n', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    expect((await synced(study)).progress).to.include({ total: 1, failed: 0 });
    expect((await study.participants()).map((p) => [p.external_id, p.preferred_language])).to.deep.equal([['n', 'de']]);
    stage.simulator.control.clearFaults();
  });

  it('nor does a text that was cut in the middle of an emoji', async () => {
    const mapping = { enrollment_date: 'enrolled', email: 'mail', participant_code: 'code' };
    const study = await stage.study({ config: { participant_field_mapping: mapping } });
    const rows = ['a', 'b'].map((record) => ({ ...ROW, subject_id: record, code: '', mail: 'cut-\ud83d@example.org' }));
    stage.simulator.control.setFaults({
      project_id: Number(study.projectId),
      content: ['record'],
      body: JSON.stringify([...rows, { ...ROW, subject_id: 'whole', code: 'whole 😀 \\ud83d' }]),
    });
    await study.enroll('a', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    expect((await synced(study)).progress).to.include({ total: 3, created: 2, failed: 0 });
    expect((await study.participants()).map((p) => [p.external_id, p.participant_code, p.email])).to.have.deep.members([
      ['a', 'a', 'cut-\ufffd@example.org'],
      ['b', 'b', 'cut-\ufffd@example.org'],
      ['whole', 'whole 😀 \\ud83d', null],
    ]);
    stage.simulator.control.clearFaults();
  });
});
