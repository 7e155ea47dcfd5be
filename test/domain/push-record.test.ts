import { expect } from 'chai';
import fc from 'fast-check';
import { listedValues, missingFrom, planPush, pushValuesOf } from '../../workflows/domain/capture/push-record.js';
import type { PushSubject } from '../../workflows/domain/capture/push-record.js';
import { breakerWait, retryWait } from '../../workflows/domain/capture/push-retry.js';
import { checkValue, outOfRange, roundHalfAway, numberText } from '../../workflows/domain/capture/push-values.js';
import type { DictionaryField } from '../../workflows/domain/capture/push-values.js';
import { redactValues } from '../../activities/capture/client/redact.js';

const field = (more: Partial<DictionaryField> = {}): DictionaryField => ({
  field_name: 'f',
  form_name: 'cognition',
  field_type: 'text',
  choices: '',
  validation: '',
  min: '',
  max: '',
  ...more,
});
const key = field({ field_name: 'subject_id', form_name: 'enroll' });

describe('a result as the capture system wants it', () => {
  const cases: [value: number, validation: string, text: string][] = [
    [412.34567, '', '412.35'],
    [412.3, '', '412.3'],
    [22, '', '22'],
    [22.001, '', '22'],
    [1.005, '', '1.01'],
    [-1.005, '', '-1.01'],
    [-0.001, '', '0'],
    [0.1 + 0.2, '', '0.3'],
    [1e-9, '', '0'],
    [1e21, '', '1000000000000000000000'],
    [22, 'number_1dp', '22.0'],
    [22.46, 'number_1dp', '22.5'],
    [22.249, 'number_1dp', '22.2'],
    [22.249, 'number_1dp_comma_decimal', '22,2'],
    [0.96666, 'number_2dp', '0.97'],
    [22.5, 'number_3dp', '22.500'],
    [-0.04, 'number_1dp', '0.0'],
    [22, 'integer', '22'],
    [22.5, 'number_comma_decimal', '22,5'],
    [22, 'number_1dp_comma_decimal', '22,0'],
  ];
  for (const [value, validation, text] of cases) {
    it(`${value}${validation && ` in a field of ${validation}`} is ${text}`, () =>
      expect(numberText(value, field({ validation }))).to.equal(text));
  }

  it('two decimals are never further off than half a hundredth, and rounding again changes nothing', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
        const rounded = roundHalfAway(value, 2);
        expect(Math.abs(rounded - value)).to.be.at.most(0.005 + Math.abs(value) * 1e-12);
        expect(roundHalfAway(rounded, 2)).to.equal(rounded);
      }),
    );
  });

  const rules: [what: Partial<DictionaryField>, text: string, rule: RegExp | undefined][] = [
    [{}, '412.35', undefined],
    [{ validation: 'number', min: '0', max: '1' }, '0.97', undefined],
    [{ validation: 'number', min: '0', max: '1' }, '1.01', undefined],
    [{ validation: 'number', min: '5' }, '4', undefined],
    [{ validation: 'integer' }, '4', undefined],
    [{ validation: 'integer' }, '4.5', /no whole number/],
    [{ validation: 'date_ymd' }, '4', /date_ymd/],
    [{ validation: 'email' }, '4', /email/],
    [{ field_type: 'notes' }, '4.5', undefined],
    [{ field_type: 'calc' }, '4', /calc/],
    [{ field_type: 'file' }, '4', /file/],
    [{ field_type: 'yesno' }, '1', undefined],
    [{ field_type: 'yesno' }, '2', /only 0, 1/],
    [{ field_type: 'radio', choices: '1, low | 2, high' }, '2', undefined],
    [{ field_type: 'dropdown', choices: '1, low | 2, high' }, '3', /only 1, 2/],
    [{ field_type: 'checkbox', choices: '1, low' }, '1', /f___<code>/],
    [{ field_type: 'slider' }, '101', undefined],
    [{ field_type: 'slider' }, '5.5', /no whole number/],
    [{ field_type: 'slider' }, '5', undefined],
  ];
  for (const [what, text, rule] of rules) {
    it(`${JSON.stringify(what)} ${rule ? 'refuses' : 'takes'} ${text}`, () => {
      const found = checkValue('f', text, new Map([['f', field(what)]]));
      if (rule) expect(found).to.match(rule);
      else expect(found).to.equal(undefined);
    });
  }

  const ranges: [what: Partial<DictionaryField>, text: string, told: RegExp | undefined][] = [
    [{ validation: 'number', min: '0', max: '1' }, '1.01', /range from 0 to 1/],
    [{ validation: 'number_1dp_comma_decimal', min: '0,5' }, '0,4', /range from 0,5 to no maximum/],
    [{ validation: 'integer', min: '5' }, '4', /range from 5 to no maximum/],
    [{ validation: 'integer', min: '5' }, '5', undefined],
    [{ field_type: 'slider' }, '101', /range from 0 to 100/],
    [{ min: '5' }, '4', undefined],
  ];
  for (const [what, text, told] of ranges) {
    it(`${text} in ${JSON.stringify(what)} is ${told ? 'told as outside of the range' : 'nothing to tell'}`, () => {
      const found = outOfRange(field(what), text);
      if (told) expect(found).to.match(told);
      else expect(found).to.equal(undefined);
    });
  }

  it('a box of a checkbox and the status of an instrument are fields as well; of what the dictionary does not list nothing is said', () => {
    const fields = new Map([['f', field({ field_type: 'checkbox', choices: '1, a | 2, b' })]]);
    expect(checkValue('f___2', '1', fields)).to.equal(undefined);
    expect(checkValue('f___2', '2', fields)).to.match(/only 0, 1/);
    expect(checkValue('cognition_complete', '2', fields)).to.equal(undefined);
    expect(checkValue('cognition_complete', '3', fields)).to.match(/only 0, 1, 2/);
    for (const name of ['f___3', 'g', 'memory_complete', '__proto__'])
      expect(checkValue(name, '1', fields), name).to.equal(undefined);
  });
});

describe('what is pushed of a session', () => {
  const mapping = { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'f' } } };
  const subject = (more: Partial<PushSubject> = {}): PushSubject => ({
    integrated: true,
    session_id: 's',
    session_status: 'completed',
    source: 'online',
    external_id: 'R1',
    began_after_withdrawal: false,
    visit_status: 'completed',
    visit_event: 'e_arm_1',
    visit_session_id: 's',
    summaries: { stroop: { mean_rt: 1.239 } },
    ...more,
  });

  const plans: [more: Partial<PushSubject>, kind: string][] = [
    [{}, 'push'],
    [{ visit_session_id: null }, 'push'],
    [{ integrated: false }, 'skip'],
    [{ session_status: 'abandoned' }, 'skip'],
    [{ began_after_withdrawal: true }, 'skip'],
    [{ visit_session_id: 'other' }, 'skip'],
    [{ visit_status: 'scheduled', visit_session_id: null }, 'skip'],
    [{ summaries: { other: { mean_rt: 1 } } }, 'skip'],
    [{ summaries: null }, 'skip'],
    [{ summaries: null, source: 'offline' }, 'later'],
    [{ summaries: { one: { mean_rt: 1 }, two: { mean_rt: 2 } }, divided: { stroop: ['one', 'two'] } }, 'configuration'],
    [{ summaries: { one: { mean_rt: 1 } }, divided: { n_back: ['one'] } }, 'skip'],
    [{ divided: { stroop: ['one'] } }, 'push'],
    [{ visit_status: null }, 'configuration'],
    [{ visit_event: null }, 'configuration'],
    [{ external_id: null }, 'configuration'],
  ];
  for (const [more, kind] of plans)
    it(`${JSON.stringify(more)}: ${kind}`, () => expect(planPush(subject(more), mapping).kind).to.equal(kind));
  it('no configuration, and no mapping: configuration', () => {
    expect([planPush(subject(), undefined).kind, planPush(subject(), {}).kind]).to.deep.equal([
      'configuration',
      'configuration',
    ]);
  });

  it('a metric that is mapped to the record id is a fault, and its form is not complete', () => {
    const plan = {
      kind: 'push' as const,
      record: 'R1',
      event: 'e',
      metrics: [{ field: 'subject_id', value: 1 }],
      instruments: ['gone'],
    };
    expect(pushValuesOf(plan, [key, field()])).to.deep.equal({
      values: {},
      faults: [{ field: 'subject_id', rule: 'it is the record id' }],
      warnings: [],
    });
  });

  it('of fields that the dictionary lacks, and others, these are told apart, without the status of their form', () => {
    const known = [key, { ...field(), field_name: 'f', form_name: 'cognition' }];
    const values = { f: '22', g: '1', f___1: '1', cognition_complete: '2', gone_complete: '2' };
    expect(listedValues(values, known)).to.deep.equal({
      values: { f: '22', f___1: '1' },
      unlisted: ['g', 'gone_complete'],
    });
    for (const field of ['f', 'g'])
      expect(listedValues({ [field]: '1', cognition_complete: '2' }, known)).to.equal(undefined);
    expect(listedValues(values, [])).to.equal(undefined);
  });

  it('without a dictionary everything is sent as it is', () => {
    const plan = {
      kind: 'push' as const,
      record: 'R1',
      event: 'e',
      metrics: [
        { field: 'f', value: 22 },
        { field: 'g', value: 1.239 },
      ],
      instruments: ['cognition'],
    };
    expect(pushValuesOf(plan, [])).to.deep.equal({
      values: { f: '22', g: '1.24', cognition_complete: '2' },
      faults: [],
      warnings: [],
    });
  });

  it('of what stands in the record already nothing is sent again', () => {
    const values = { f: '22.0', g: '1', cognition_complete: '2' };
    expect(missingFrom(values, [])).to.deep.equal(values);
    expect(missingFrom(values, [{ f: '22', g: '1', cognition_complete: 2 }])).to.deep.equal({});
    expect(missingFrom(values, [{ f: '22.0', g: '', cognition_complete: '0' }])).to.deep.equal({
      g: '1',
      cognition_complete: '2',
    });
    expect(
      missingFrom(values, [
        { redcap_repeat_instrument: 'other', redcap_repeat_instance: 1, f: '22.0', g: '1', cognition_complete: '2' },
      ]),
      'a row of a repeating form',
    ).to.deep.equal(values);
  });

  it('waits double up to an hour; at the breaker a cooldown each, longer after many', () => {
    expect([1, 2, 3, 20].map((n) => retryWait(5_000, n, 0))).to.deep.equal([5_000, 10_000, 20_000, 3_600_000]);
    expect(breakerWait(40_000, 60_000, 1, 0)).to.equal(40_000);
    expect(breakerWait(60_000, 60_000, 8, 0)).to.equal(60_000);
    expect(breakerWait(60_000, 60_000, 30, 0)).to.equal(3_600_000);
  });
});

describe('a refusal of the capture system', () => {
  it('keeps fields and rules and loses records and values, also where a rule quotes them', () => {
    const said =
      '"A-01/β","age","17 years","The value ""17 years"" of A-01/β is not a number."\n"A-02","age","x","Locked."\n"A-03","age","y","Locked."';
    expect(redactValues(said)).to.equal('age: The value ""…"" of … is not a number.; age: Locked.');
    expect(redactValues(said.replaceAll('"', '&quot;'))).to.equal(redactValues(said));
  });
  it('of another kind stays as it is', () => {
    expect(redactValues('The following fields were not found in the project as real data fields: x')).to.equal(
      'The following fields were not found in the project as real data fields: x',
    );
  });
});
