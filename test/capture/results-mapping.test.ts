import { expect } from 'chai';
import { asMuchAs } from '../support/in-full.js';
import { compared } from './compared.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'scan,enroll,file,Scan,,',
  'arms,enroll,checkbox,Arm,"a, A | B-1, B",',
  'sure,enroll,yesno,Sure,,',
  'at,enroll,text,At,,time',
  'rt_mean,cognition,text,Mean,,number',
  'grade,cognition,radio,Grade,"a, A | b, B",',
  'total,cognition,calc,Total,1,',
  'tested_on,cognition,text,Day,,date_ymd',
  'upload,cognition,file,File,,',
  'again,diary,text,Again,,number',
  'late,later,text,Late,,number',
].join('\n');

const PROJECT = {
  events: [
    { event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll', 'cognition', 'diary'] },
    { event_name: 'Month 3', day_offset: 90, offset_min: 7, offset_max: 14, forms: ['later'] },
  ],
  instruments: [],
  repeating_instruments: [{ event: 'baseline_arm_1', instrument: 'diary' }],
};
const EVENTS = { baseline_arm_1: { target_day: 0 } };
const stroop = (instrument: string, field: string) => ({
  data_field_mapping: { stroop: { datacapture_instrument: instrument, fields: { mean_rt: field } } },
});

/** Changes that no push can satisfy: what is warned of, and where. */
const TABLE: [string, Record<string, unknown>, string][] = [
  [
    'a calculated field',
    stroop('cognition', 'total'),
    'FIELD_TAKES_NO_RESULT data_field_mapping.stroop.fields.mean_rt',
  ],
  ['a file', stroop('cognition', 'upload'), 'FIELD_TAKES_NO_RESULT data_field_mapping.stroop.fields.mean_rt'],
  ['a date', stroop('cognition', 'tested_on'), 'FIELD_TAKES_NO_RESULT data_field_mapping.stroop.fields.mean_rt'],
  [
    'a choice of letters',
    stroop('cognition', 'grade'),
    'FIELD_TAKES_NO_RESULT data_field_mapping.stroop.fields.mean_rt',
  ],
  ['the record id', stroop('enroll', 'subject_id'), 'RECORD_ID_FIELD data_field_mapping.stroop.fields.mean_rt'],
  [
    'an instrument that repeats',
    stroop('diary', 'again'),
    'REPEATING_INSTRUMENT data_field_mapping.stroop.datacapture_instrument',
  ],
  [
    'an instrument that the mapped event does not have',
    stroop('later', 'late'),
    'INSTRUMENT_NOT_DESIGNATED data_field_mapping.stroop.datacapture_instrument',
  ],
  [
    'a field of such an instrument',
    stroop('cognition', 'late'),
    'INSTRUMENT_NOT_DESIGNATED data_field_mapping.stroop.fields.mean_rt',
  ],
  [
    'an unknown task',
    { data_field_mapping: { strop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } } },
    'UNKNOWN_TASK data_field_mapping.strop',
  ],
  [
    'two results in one field',
    {
      data_field_mapping: {
        stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean', median_rt: 'rt_mean' } },
      },
    },
    'DUPLICATE data_field_mapping.stroop.fields.median_rt',
  ],
  [
    'an enrollment form that the enrollment event does not have',
    { enrollment_event: 'baseline_arm_1,month_3_arm_1' },
    'INSTRUMENT_NOT_DESIGNATED enrollment_event',
  ],
  [
    'a participant’s field from a file',
    { participant_field_mapping: { arm: 'scan' } },
    'FIELD_HAS_NO_VALUE participant_field_mapping.arm',
  ],
  [
    'a participant’s field from a form that the enrollment event does not have',
    { participant_field_mapping: { phone: 'late' } },
    'INSTRUMENT_NOT_DESIGNATED participant_field_mapping.phone',
  ],
  [
    'an enrollment date from a time',
    { participant_field_mapping: { enrollment_date: 'at' } },
    'FIELD_HAS_NO_DATE participant_field_mapping.enrollment_date',
  ],
  [
    'a date of birth from a yes or no',
    { participant_field_mapping: { date_of_birth: 'sure' } },
    'FIELD_HAS_NO_DATE participant_field_mapping.date_of_birth',
  ],
  [
    'a participant’s field from a form that repeats',
    { participant_field_mapping: { phone: 'again' } },
    'REPEATING_INSTRUMENT participant_field_mapping.phone',
  ],
  [
    'a box that the checkbox does not have',
    { participant_field_mapping: { arm: 'arms___c' } },
    'UNKNOWN_FIELD participant_field_mapping.arm',
  ],
  [
    'results of two tasks in one field',
    {
      data_field_mapping: {
        n_back: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } },
        stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } },
      },
    },
    'DUPLICATE data_field_mapping.stroop.fields.mean_rt',
  ],
  [
    'the status of a form',
    stroop('cognition', 'cognition_complete'),
    'FIELD_TAKES_NO_RESULT data_field_mapping.stroop.fields.mean_rt',
  ],
];

/** A save of the events compares what stands, as each save does: so many of the changes are followed by one. */
const PUT_ONE_IN = asMuchAs(5, 1);

describe('a mapping that no push or reading can satisfy', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  async function connected(): Promise<CaptureStudy> {
    const study = await stage.study({ project: PROJECT, dictionary: DICTIONARY, connect: false });
    await study.connect({
      event_battery_mapping: study.mapped(EVENTS),
      participant_field_mapping: { enrollment_date: 'enrolled' },
    });
    return study;
  }
  type Reply = { status: number; body: Record<string, unknown> };
  const told = (reply: Pick<Reply, 'body'>, list: 'warnings' | 'errors') =>
    ((reply.body[list] ?? []) as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);

  it('is named when it is saved, and refused by a strict save', async () => {
    const study = await connected();
    // Each is a change of what was connected, not of the one before.
    const saved = ['enrollment_event', 'participant_field_mapping', 'data_field_mapping'];
    const [before] = await stage.sql<Record<string, unknown>>(
      `select ${saved.join()} from datacapture_configs where study_id = ?`,
      [study.id],
    );
    const restored = [before!['enrollment_event'], ...saved.slice(1).map((name) => JSON.stringify(before![name]))];
    const restore = () =>
      stage.sql(`update datacapture_configs set ${saved.map((name) => `${name} = ?`).join()} where study_id = ?`, [
        ...restored,
        study.id,
      ]);
    for (const [row, [what, change, warning]] of TABLE.entries()) {
      await restore();
      const strict = await compared(() => study.configure(change, '?strict=true'));
      expect([strict.status, told(strict, 'errors')], what).to.deep.equal([400, [warning]]);
      const lax = await compared(() => study.configure(change));
      expect([lax.status, told(lax, 'warnings')], what).to.deep.equal([200, [warning]]);
      if (row % PUT_ONE_IN > 0) continue;
      const put = await compared(() =>
        stage.call('PUT', `/api/datacapture/config/${study.id}/event-mapping`, {
          event_battery_mapping: study.mapped(EVENTS),
        }),
      );
      expect([put.status, told(put, 'warnings')], what).to.deep.equal([200, [warning]]);
    }
  });

  it('so it is where two windows deliver the same results to one event, and not where they have different tasks', async () => {
    const study = await connected();
    expect((await study.configure(stroop('cognition', 'rt_mean'), '?strict=true')).status).to.equal(200);
    const another = { study_id: study.id, code: 'OTHER', name: 'Other', modules: [{ task: 'digit_span' }] };
    const other = await stage.call<{ id: number }>('POST', '/api/batteries', another);
    const window = async (code: string, battery_id: number) => {
      const days = { target_day: 30, window_before: 1, window_after: 1 };
      const body = { study_id: study.id, code, name: code, battery_id, datacapture_event: 'baseline_arm_1', ...days };
      expect((await stage.call('POST', '/api/schedules/windows', body)).status).to.equal(201);
    };
    await window('W1', study.battery);
    await window('W2', other.body.id);
    const shared = await compared(() => study.configure(stroop('cognition', 'rt_mean'), '?strict=true'));
    expect([shared.status, told(shared, 'warnings')]).to.deep.equal([200, []]);
    await window('W3', study.battery);
    const strict = await study.configure(stroop('cognition', 'rt_mean'), '?strict=true');
    expect([strict.status, told(strict, 'errors')]).to.deep.equal([400, ['SAME_FIELDS data_field_mapping']]);
    expect(JSON.stringify(strict.body)).to.contain('(W1, W3)').and.contain('baseline_arm_1');
  });

  it('so it is where the windows of a project without events deliver the same results', async () => {
    const study = await stage.study({
      project: { arms: [], events: [] },
      config: { enrollment_event: null, event_battery_mapping: {} },
    });
    const window = async (code: string, datacapture_event: string | null) => {
      const days = { target_day: 30, window_before: 1, window_after: 1 };
      const body = { study_id: study.id, code, name: code, battery_id: study.battery, datacapture_event, ...days };
      expect((await stage.call('POST', '/api/schedules/windows', body)).status).to.equal(201);
    };
    const strict = () => compared(() => study.configure(stroop('cognition', 'rt_mean'), '?strict=true'));
    await window('W1', 'first');
    await window('W2', null);
    const one = await strict();
    expect([one.status, told(one, 'warnings')]).to.deep.equal([200, []]);
    await window('W3', 'third');
    const two = await strict();
    expect([two.status, told(two, 'errors')]).to.deep.equal([400, ['SAME_FIELDS data_field_mapping']]);
  });

  it('is nothing that fits: a strict save takes it', async () => {
    const study = await connected();
    const saved = await compared(() => study.configure(stroop('cognition', 'rt_mean'), '?strict=true'));
    expect([saved.status, told(saved, 'warnings')]).to.deep.equal([200, []]);
    const arm = { participant_field_mapping: { arm: 'arms___b_1' } };
    const boxes = await compared(() => study.configure(arm, '?strict=true'));
    expect([boxes.status, told(boxes, 'warnings')]).to.deep.equal([200, []]);
  });

  it('so it is where the event of a window does not have the instrument, or is none of the project', async () => {
    const study = await stage.study({ project: PROJECT, dictionary: DICTIONARY, connect: false });
    await study.connect({ event_battery_mapping: {}, participant_field_mapping: { enrollment_date: 'enrolled' } });
    const window = async (code: string, datacapture_event: string) => {
      const days = { target_day: 30, window_before: 1, window_after: 1 };
      const body = { study_id: study.id, code, name: code, battery_id: study.battery, datacapture_event, ...days };
      expect((await stage.call('POST', '/api/schedules/windows', body)).status).to.equal(201);
    };
    const strict = async (instrument: string, field: string) => {
      const reply = await compared(() => study.configure(stroop(instrument, field), '?strict=true'));
      return [reply.status, ...told(reply, reply.status === 200 ? 'warnings' : 'errors')];
    };
    await window('W1', 'month_3_arm_1');
    expect(await strict('cognition', 'rt_mean')).to.deep.equal([
      400,
      'INSTRUMENT_NOT_DESIGNATED data_field_mapping.stroop.datacapture_instrument',
    ]);
    // The form repeats at the other event alone.
    expect(await strict('later', 'late')).to.deep.equal([200]);
    await window('W2', 'nowhere_arm_1');
    expect(await strict('later', 'late')).to.deep.equal([400, 'UNKNOWN_EVENT data_field_mapping']);
  });
});
