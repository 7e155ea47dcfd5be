import { expect } from 'chai';
import { Stage, synced } from './support.js';

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'arms,enroll,checkbox,Arm,"Treat-A, A | -1, None | 2, Two | b.1, B"',
].join('\n');

/** The columns of an export have the codes in lower case, and with underscores. */
const TICKED = [
  ['arms___treat_a', 'Treat-A'],
  ['arms____1', '-1'],
  ['arms___2', '2'],
  ['arms___b_1', 'b.1'],
] as const;

describe('the arm by a ticked box', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('is the code as the dictionary has it, by trigger and by sync', async () => {
    const study = await stage.study({
      dictionary: DICTIONARY,
      project: { instruments: [{ name: 'enroll', label: 'Enrollment' }], events: [] },
      config: { enrollment_event: null, participant_field_mapping: { enrollment_date: 'enrolled', arm: 'arms' } },
    });
    const saved = (trigger: boolean) =>
      Promise.all(
        TICKED.map(([column, code]) =>
          stage.simulator.control.saveForm(Number(study.projectId), {
            record: `${code} ${trigger ? 'trigger' : 'sync'}`,
            instrument: 'enroll',
            values: { enrolled: '2026-01-15', [column]: '1' },
            trigger,
          }),
        ),
      );
    await saved(true);
    await study.settled(TICKED.length);
    await saved(false);
    expect((await synced(study)).progress).to.include({ created: TICKED.length, unchanged: TICKED.length });
    const arms = (await study.participants()).map(({ external_id, arm }) => `${external_id}: ${arm}`);
    const wanted = TICKED.flatMap(([, code]) => [`${code} sync: ${code}`, `${code} trigger: ${code}`]);
    expect(arms.sort()).to.deep.equal(wanted.sort());
  });

  it('is no arm where the box is of a missing-data code, which each checkbox has', async () => {
    const study = await stage.study({
      dictionary: DICTIONARY,
      project: {
        instruments: [{ name: 'enroll', label: 'Enrollment' }],
        events: [],
        missing_data_codes: 'UNK, ? | -9, -',
      },
      config: { enrollment_event: null, participant_field_mapping: { enrollment_date: 'enrolled', arm: 'arms' } },
    });
    const saved = (record: string, box: string, trigger: boolean) =>
      stage.simulator.control.saveForm(Number(study.projectId), {
        record,
        instrument: 'enroll',
        values: { enrolled: '2026-01-15', [box]: '1' },
        trigger,
      });
    await saved('one', 'arms___unk', true);
    await saved('two', 'arms____9', true);
    await study.settled(2);
    await saved('three', 'arms___unk', false);
    expect((await synced(study)).progress).to.include({ created: 1, unchanged: 2 });
    expect((await study.participants()).map(({ arm }) => arm)).to.deep.equal([null, null, null]);
  });

  it('of another form, which only the policy reads, is the code too, by trigger and by sync', async () => {
    const study = await stage.study({
      dictionary: `${DICTIONARY}\nscope,agreement,checkbox,Scope,"Data-A, Data | Data-B, Samples",`,
      project: {
        instruments: [
          { name: 'enroll', label: 'Enrollment' },
          { name: 'agreement', label: 'Agreement' },
        ],
        events: [],
      },
      config: { enrollment_event: null, participant_field_mapping: { enrollment_date: 'enrolled' } },
      study: {
        config: {
          enrollment_date_policy: { prerequisites: { custom_rule: 'forms.enroll.scope == "Data-A"' } },
        },
      },
    });
    const project = Number(study.projectId);
    for (const by of ['trigger', 'sync']) {
      await stage.simulator.control.saveForm(project, {
        record: by,
        instrument: 'agreement',
        values: { scope___data_a: '1' },
        trigger: false,
      });
      await stage.simulator.control.saveForm(project, {
        record: by,
        instrument: 'enroll',
        values: { enrolled: '2026-01-15' },
        trigger: by === 'trigger',
      });
      if (by === 'trigger') await study.settled(1);
    }
    expect((await synced(study)).progress).to.include({ created: 1, unchanged: 1 });
    for (const { id, external_id } of await study.participants())
      expect(await study.anchor(id), external_id).to.include({ status: 'finalized' });
  });
});
