import { expect } from 'chai';
import fc from 'fast-check';
import { concernsEnrollment, enrollmentOf, tellsByStatus } from '../../workflows/domain/capture/enrollment.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';

const OWN = ['enrolled', 'lang', 'arms'];
const EVENTS = ['baseline_arm_1', 'month_1_arm_1', 'baseline_arm_2'];
const value = fc.constantFrom('', '', '', ' ', '0', 'x', '2026-01-15', 'UNK');
const status = fc.constantFrom('', '0', '0', '1', '2');
const tick = fc.constantFrom('0', '0', '1');

/** A row as a flat export has it: the form's fields, another form's, system fields. */
const row = (place: fc.Arbitrary<Record<string, string | number>>): fc.Arbitrary<ExportRow> =>
  fc
    .tuple(
      place,
      fc.record({
        enrolled: value,
        lang: value,
        arms___a: tick,
        arms___b: tick,
        enroll_complete: status,
        dob: value,
        other_complete: status,
        redcap_data_access_group: fc.constantFrom('', 'north'),
      }),
    )
    .map(([where, values]) => ({ record_id: '7', ...where, ...values }));
const record = fc
  .tuple(
    fc.subarray(EVENTS),
    fc.array(row(fc.constant({ redcap_repeat_instrument: '', redcap_repeat_instance: '' })), {
      minLength: 3,
      maxLength: 3,
    }),
    fc.array(
      row(
        fc.record({
          redcap_event_name: fc.constantFrom(...EVENTS),
          redcap_repeat_instrument: fc.constantFrom('enroll', 'other'),
          redcap_repeat_instance: fc.integer({ min: 1, max: 4 }),
        }),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([events, single, repeated]): ExportRow[] =>
    EVENTS.flatMap((event) => [
      ...single.slice(0, events.includes(event) ? 1 : 0).map((each) => ({ ...each, redcap_event_name: event })),
      ...repeated.filter((each) => each['redcap_event_name'] === event),
    ]),
  );
const named = fc.constantFrom<string[]>(
  [],
  ['baseline_arm_1'],
  ['month_1_arm_1'],
  ['baseline_arm_1', 'baseline_arm_2'],
);

/** What a sync asks for: the form, mapped fields of other forms, the events that enroll. */
const asSync = (rows: readonly ExportRow[], events: readonly string[]): ExportRow[] =>
  rows
    .filter((each) => events.length === 0 || events.includes(String(each['redcap_event_name'])))
    .map(({ other_complete: _not, ...asked }) => asked);
/** What a trigger that names its event asks for. */
const asTrigger = (rows: readonly ExportRow[], event: string) =>
  rows.filter((each) => each['redcap_event_name'] === event);
const mapped = (rows: readonly ExportRow[], events: readonly string[], own = OWN) => {
  const found = enrollmentOf(rows, { instrument: 'enroll', events, own });
  if (!found) return null;
  const { other_complete: _not, ...values } = found.values;
  return { event: found.event, values };
};

describe('whether and how a record is enrolled', () => {
  it('trigger and sync read the same from random records, whatever else each has asked for', () => {
    fc.assert(
      fc.property(record, named, (rows, events) => {
        expect(mapped(asSync(rows, events), events)).to.deep.equal(mapped(rows, events));
      }),
      { numRuns: 3_000 },
    );
  });

  it('a trigger of the event that enrolls reads what a sync reads; one of another event reads nothing', () => {
    fc.assert(
      fc.property(record, fc.constantFrom(...EVENTS), fc.constantFrom(...EVENTS), (rows, enrolls, event_name) => {
        const events = [enrolls];
        const concerned = concernsEnrollment({ instrument: 'enroll', event_name }, { instrument: 'enroll', events });
        expect(concerned).to.equal(event_name === enrolls);
        if (concerned)
          expect(mapped(asTrigger(rows, event_name), events)).to.deep.equal(mapped(asSync(rows, events), events));
      }),
      { numRuns: 3_000 },
    );
  });

  it('where the status alone tells, the dictionary changes nothing', () => {
    fc.assert(
      fc.property(record, named, (rows, events) => {
        fc.pre(tellsByStatus(rows, { instrument: 'enroll', events }));
        expect(mapped(rows, events, [])).to.deep.equal(mapped(rows, events));
      }),
      { numRuns: 3_000 },
    );
  });

  it('the record id, system fields, boxes without a tick and other forms enroll nobody', () => {
    fc.assert(
      fc.property(record, named, (rows, events) => {
        const empty = rows.map((each) => ({
          ...each,
          enrolled: ' ',
          lang: '',
          arms___a: '0',
          arms___b: '0',
          enroll_complete: '0',
          redcap_survey_identifier: 'someone',
        }));
        expect(enrollmentOf(empty, { instrument: 'enroll', events, own: OWN })).to.equal(null);
      }),
    );
  });

  it('a value of the form or a status above 0 enrolls, in the event that is named', () => {
    const at = (event: string, values: object): ExportRow => ({ record_id: '7', redcap_event_name: event, ...values });
    const of = (values: object) =>
      enrollmentOf([at('baseline_arm_1', values)], { instrument: 'enroll', events: ['baseline_arm_1'], own: OWN });
    for (const values of [{ lang: 'de' }, { arms___b: '1' }, { enroll_complete: '1' }, { enroll_complete: 2 }])
      expect(of(values), JSON.stringify(values)).to.include({ event: 'baseline_arm_1' });
    expect(
      enrollmentOf([at('month_1_arm_1', { enroll_complete: '2', lang: 'de' })], {
        instrument: 'enroll',
        events: ['baseline_arm_1'],
        own: OWN,
      }),
    ).to.equal(null);
  });
});
