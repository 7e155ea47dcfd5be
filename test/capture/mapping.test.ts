import { expect } from 'chai';
import fc from 'fast-check';
import { mergeMappings } from '../../api/capture/capture-mapping.service.js';
import { captureUrlFault, isPublicAddress } from '../../workflows/domain/capture/addresses.js';
import { isCalendarDate, isDateLike } from '../../workflows/domain/capture/dates.js';
import { duplicateOf, isUnchanged } from '../../workflows/domain/capture/duplicates.js';
import { checkMapping } from '../../workflows/domain/capture/mapping-check.js';
import { missingDataCodes } from '../../workflows/domain/capture/missing-codes.js';
import { factItems, mapParticipant, sitesOfGroup } from '../../workflows/domain/capture/participant.js';
import { enrollmentOf } from '../../workflows/domain/capture/enrollment.js';
import { rowsOfRecord } from '../../workflows/domain/capture/record.js';

const none: ReadonlySet<string> = new Set();

describe('capture mapping: fields of a participant', () => {
  const map = (record: Record<string, string>, mapping: Record<string, string>, missing = none) =>
    mapParticipant(record, mapping, missing);

  const dates: [string, string, boolean][] = [
    ['a day', '2026-02-28', true],
    ['a leap day', '2024-02-29', true],
    ['a leap day of a common year', '2026-02-29', false],
    ['a partial date', '2026-02', false],
    ['an instant that no calendar has', '2026-02-30 10:00', false],
    ['a day with words', '2026-02-28 or so', false],
    ['an American date', '02/28/2026', false],
    ['month 13', '2026-13-01', false],
    ['day 0', '2026-01-00', false],
    ['a word', 'soon', false],
  ];
  for (const [what, value, taken] of dates) {
    it(`${taken ? 'takes' : 'drops'} ${what} as enrollment_date`, () => {
      const mapped = map({ visit: value }, { enrollment_date: 'visit' });
      expect(mapped.values.enrollment_date).to.equal(taken ? value : undefined);
      expect(mapped.dropped).to.deep.equal(taken ? [] : ['enrollment_date']);
    });
  }

  it('knows no year 0, in whatever precision', () => {
    for (const text of ['0000', '0000-05', '0000-05-01', '0000-05-01 10:00'])
      expect([isCalendarDate(text), isDateLike(text)], text).to.deep.equal([false, false]);
    for (const text of ['0001', '9999-12', '0001-01-01', '9999-12-31 23:59'])
      expect(isDateLike(text), text).to.equal(true);
  });

  it('agrees with the calendar on every date-like text', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1600, max: 2400 }),
        fc.integer({ min: 0, max: 14 }),
        fc.integer({ min: 0, max: 33 }),
        (y, m, d) => {
          const text = `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`;
          const date = new Date(`${text}T00:00:00Z`);
          expect(isCalendarDate(text)).to.equal(
            !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text,
          );
        },
      ),
    );
  });

  it('does not apply what is empty, absent or a missing-data code', () => {
    const missing = missingDataCodes('UNK, Unknown | NASK, Not asked');
    const mapped = map(
      { lang: '', arm: 'UNK', zone: 'NASK', tel: '1' },
      { preferred_language: 'lang', arm: 'arm', timezone: 'zone', phone: 'tel', email: 'mail' },
      missing,
    );
    expect(mapped).to.deep.equal({ values: { phone: '1' }, dropped: [] });
  });

  it('drops what does not fit its column', () => {
    const mapped = map(
      { a: 'nobody', b: 'Mars/Olympus', c: 'x'.repeat(65), d: 'a\u0000b', e: 'no language' },
      { email: 'a', timezone: 'b', participant_code: 'c', arm: 'd', preferred_language: 'e' },
    );
    expect(mapped.values).to.deep.equal({});
    expect(mapped.dropped).to.have.members(['email', 'timezone', 'participant_code', 'arm', 'preferred_language']);
  });

  it('takes one address as email: no list, no name, no link', () => {
    for (const mail of [
      'p@example.org,',
      'p@example.org;q@example.org',
      'p@example.org;',
      '<p@example.org>',
      'mailto:p@example.org',
    ])
      expect(map({ mail }, { email: 'mail' }), mail).to.deep.equal({ values: {}, dropped: ['email'] });
    expect(map({ mail: "o'p+q@münster.example.org" }, { email: 'mail' }).dropped).to.deep.equal([]);
  });

  it('takes a time zone by its usual name; an offset is none', () => {
    expect(map({ zone: 'europe/berlin' }, { timezone: 'zone' }).values.timezone).to.equal('Europe/Berlin');
    expect(map({ zone: '+02:00' }, { timezone: 'zone' })).to.deep.equal({ values: {}, dropped: ['timezone'] });
  });

  it('reads a checkbox as the one code that is ticked, and guesses nothing of two', () => {
    expect(map({ grp___1: '0', grp___2: '1' }, { arm: 'grp' }).values.arm).to.equal('2');
    expect(map({ grp___1: '1', grp___2: '1' }, { arm: 'grp' })).to.deep.equal({ values: {}, dropped: ['arm'] });
    expect(map({ grp___1: '0', grp___2: '0' }, { arm: 'grp' })).to.deep.equal({ values: {}, dropped: [] });
    expect(map({ grp___1: '1' }, { arm: 'grp___1' }).values.arm).to.equal('1');
    const codes = { grp: ['1', 'B-1'] };
    expect(mapParticipant({ grp___b_1: '1' }, { arm: 'grp' }, none, undefined, codes).values.arm).to.equal('B-1');
  });

  it('does not take a mapping from the prototype', () => {
    expect(
      map({ constructor: 'x' }, JSON.parse('{"__proto__": {"arm": "constructor"}}') as Record<string, string>).values,
    ).to.deep.equal({});
  });
});

describe('capture mapping: facts for the anchor', () => {
  const policy = {
    sources: [
      { type: 'form_item', form_mapping: { form_oid: 'enroll', item_oid: 'baseline' } },
      { type: 'form_item', form_mapping: { form_oid: 'other', item_oid: 'elsewhere' } },
      { type: 'computed_rule', computed_rule: { expression: 'date(forms.enroll.screened) + days(7)' } },
    ],
    prerequisites: { custom_rule: "forms['enroll'].dob != ''" },
  };
  const mapping = { enrollment_date: 'enrolled', date_of_birth: 'dob', email: 'mail', phone: 'tel' };
  const record = {
    enrolled: '2026-02',
    baseline: '2026-03-01',
    screened: '2026-01-02',
    dob: '1950-01-01',
    mail: 'a@b',
    tel: '1',
    elsewhere: 'x',
    note: 'private',
  };

  it('holds the mapped date and what the policy names of the form, and nothing personal', () => {
    expect(factItems(record, { mapping, enrollmentInstrument: 'enroll', policy }, none)).to.deep.equal({
      enrolled: '2026-02',
      baseline: '2026-03-01',
      screened: '2026-01-02',
    });
  });
  it('leaves out an enrollment date that is no date at all', () => {
    expect(
      factItems({ enrolled: 'soon' }, { mapping, enrollmentInstrument: 'enroll', policy: null }, none),
    ).to.deep.equal({});
  });
});

describe('capture mapping: a missing-data code in a checkbox', () => {
  it('says that there is no value, in whatever case its box is named', () => {
    const mapped = (record: Record<string, string>) =>
      mapParticipant(record, { arm: 'arms' }, new Set(['UNK', '-99'])).values;
    expect(mapped({ arms___a: '0', arms___unk: '1' })).to.deep.equal({});
    expect(mapped({ arms___a: '1', arms___unk: '1' })).to.deep.equal({});
    expect(mapped({ arms____99: '1' })).to.deep.equal({});
    expect(mapped({ arms___a: '1', arms___unk: '0' })).to.deep.equal({ arm: 'a' });
  });
});

describe('capture mapping: rows of a record', () => {
  it('takes only rows of the record, by the first column under any name', () => {
    const rows = [
      { subject: '007', a: '1' },
      { subject: '7', a: '2' },
      { subject: 7, a: '3' },
    ];
    expect(rowsOfRecord(rows, '007')).to.deep.equal([rows[0]]);
    expect(rowsOfRecord([], 'x')).to.deep.equal([]);
  });
  it('by the primary key where it is known, wherever it stands', () => {
    const rows = [{ a: '7', subject: '007' }, { a: '007', subject: '7' }, { a: '007' }];
    expect(rowsOfRecord(rows, '007', 'subject')).to.deep.equal([rows[0]]);
  });
  const rows = [
    { id: '1', redcap_event_name: 'base', redcap_repeat_instrument: '', redcap_repeat_instance: '', a: 'base', b: '' },
    {
      id: '1',
      redcap_event_name: 'month3',
      redcap_repeat_instrument: '',
      redcap_repeat_instance: '',
      a: 'later',
      b: 'later',
    },
    {
      id: '1',
      redcap_event_name: 'base',
      redcap_repeat_instrument: 'enroll',
      redcap_repeat_instance: 1,
      a: '',
      c: 'one',
    },
    { id: '1', redcap_event_name: 'base', redcap_repeat_instrument: 'enroll', redcap_repeat_instance: 2, c: 'two' },
    { id: '1', redcap_event_name: 'base', redcap_repeat_instrument: 'other', redcap_repeat_instance: 9, c: 'other' },
  ];
  const read = (events: string[]) =>
    enrollmentOf(rows, { instrument: 'enroll', events, own: ['a', 'c'] })?.values ?? {};
  it('reads the event where there is one to read', () => {
    expect(read(['base']))
      .to.include({ a: 'base', c: 'one' })
      .and.not.have.property('b');
    expect(read(['month3'])).to.include({ a: 'later' });
  });
  it('when none is named, reads the form in the earliest event that has it, and other forms in any', () => {
    expect(read([])).to.include({ a: 'base', b: 'later' });
  });
  it('takes the first instance of a repeating form', () => {
    expect(read(['base'])['c']).to.equal('one');
  });
});

describe('capture mapping: duplicates', () => {
  const facts = { earlierEventId: 'e' as string | null, unchanged: true, participantExists: true };
  const table: [string, Partial<typeof facts>, string | null][] = [
    ['the same bytes and nothing changed is a duplicate', {}, 'e'],
    ['the same bytes with other data behind them is not', { unchanged: false }, null],
    ['other bytes are not', { earlierEventId: null }, null],
    ['a participant that was removed since is made again', { participantExists: false }, null],
  ];
  for (const [what, change, answer] of table)
    it(what, () => {
      expect(duplicateOf({ ...facts, ...change })).to.equal(answer);
    });

  // The first eight digits of a content hash say what was asked for.
  const now = { content_hash: '00000001c', reading_hash: 'r' };
  const unchanged: [string, { content_hash: string | null; reading_hash: string | null }, boolean][] = [
    ['a record that was never read has changed', { content_hash: null, reading_hash: null }, false],
    [
      'all that it shows is compared where a trigger has read it',
      { content_hash: '00000001c', reading_hash: 'other' },
      true,
    ],
    [
      'a change of what the service does not take counts as well',
      { content_hash: '00000001d', reading_hash: 'r' },
      false,
    ],
    [
      'what the service takes is compared where the last reading asked for another event',
      { content_hash: '00000002d', reading_hash: 'r' },
      true,
    ],
    ['a change of that counts then', { content_hash: '00000002c', reading_hash: 'other' }, false],
    [
      'what the service takes is compared where a sync was the last to read',
      { content_hash: null, reading_hash: 'r' },
      true,
    ],
  ];
  for (const [what, before, answer] of unchanged)
    it(what, () => {
      expect(isUnchanged(before, now)).to.equal(answer);
    });
});

describe('capture mapping: data access group', () => {
  for (const [code, group, fits] of [
    ['site_a', 'site_a', true],
    ['Site A', 'site_a', true],
    ['BERLIN-01', 'berlin_01', true],
    ['University Hospital North', 'university_hospita', true],
    ['Hospital of North Town', 'hospital_of_north', true],
    ['A', 'b', false],
  ] as const) {
    it(`site "${code}" ${fits ? 'is' : 'is not'} group "${group}"`, () => {
      expect(sitesOfGroup([{ site_code: code }], group)).to.have.length(fits ? 1 : 0);
    });
  }
});

describe('capture mapping: check against the dictionary', () => {
  const dictionary = {
    fields: [
      { field_name: 'record_id', form_name: 'enroll', field_type: 'text' },
      { field_name: 'grp', form_name: 'enroll', field_type: 'checkbox' },
    ],
    instruments: ['enroll'],
    events: ['base_arm_1'],
    longitudinal: true,
  };
  it('says nothing of names that are known', () => {
    expect(
      checkMapping(
        {
          enrollment_instrument: 'enroll',
          enrollment_event: 'base_arm_1',
          participant_field_mapping: { arm: 'grp___2', site_code: 'enroll_complete' },
          event_battery_mapping: { base_arm_1: {} },
        },
        dictionary,
      ),
    ).to.deep.equal([]);
  });
  it('names every one that is not, and where it stands', () => {
    const warnings = checkMapping(
      {
        enrollment_instrument: 'x',
        enrollment_event: 'y',
        participant_field_mapping: { shoe_size: 'record_id', arm: 'record_id___1' },
        event_battery_mapping: { z: {} },
        data_field_mapping: { stroop: { datacapture_instrument: 'q', fields: { mean_rt: 'r' } } },
      },
      dictionary,
    );
    expect(warnings.map((w) => `${w.code} ${w.path}`)).to.deep.equal([
      'UNKNOWN_INSTRUMENT enrollment_instrument',
      'UNKNOWN_EVENT enrollment_event',
      'UNKNOWN_PARTICIPANT_FIELD participant_field_mapping.shoe_size',
      'UNKNOWN_FIELD participant_field_mapping.arm',
      'UNKNOWN_EVENT event_battery_mapping.z',
      'UNKNOWN_INSTRUMENT data_field_mapping.stroop.datacapture_instrument',
      'UNKNOWN_FIELD data_field_mapping.stroop.fields.mean_rt',
    ]);
  });
  it('of a classic project: events of visits are nothing to tell, visits that write to the same fields are', () => {
    const classic = { ...dictionary, longitudinal: false, events: [] };
    const visits = { event_battery_mapping: { baseline: {}, later: {} } };
    expect(checkMapping(visits, classic)).to.deep.equal([]);
    const results = { stroop: { datacapture_instrument: 'enroll', fields: {} } };
    expect(checkMapping({ ...visits, data_field_mapping: results }, classic).map(({ code }) => code)).to.deep.equal([
      'SAME_FIELDS',
    ]);
  });
  it('says of a classic project that it has no events', () => {
    expect(
      checkMapping({ enrollment_event: 'base_arm_1' }, { ...dictionary, longitudinal: false, events: [] })[0]?.message,
    ).to.contain('no events');
  });
});

describe('capture mapping: merging a change (JSON Merge Patch)', () => {
  const stored = {
    participant_field_mapping: { arm: 'a' },
    event_battery_mapping: { e: { battery_id: 1, target_day: 0, window_before: 2, window_after: 3 } },
    data_field_mapping: {},
  };
  it('adds, changes and takes out entries, with the defaults of the contract', () => {
    const { merged, faults } = mergeMappings(stored, {
      participant_field_mapping: { arm: null, phone: 'p' },
      event_battery_mapping: { e: { target_day: 5 }, f: { battery_id: 2, target_day: 30 } },
    });
    expect(faults).to.deep.equal([]);
    expect(merged).to.deep.equal({
      participant_field_mapping: { phone: 'p' },
      event_battery_mapping: {
        e: { battery_id: 1, target_day: 5, window_before: 2, window_after: 3 },
        f: { battery_id: 2, target_day: 30, window_before: 0, window_after: 7 },
      },
    });
  });
  it('names what a new entry lacks', () => {
    expect(mergeMappings(stored, { event_battery_mapping: { f: {} } }).faults.map((f) => f.path)).to.deep.equal([
      'event_battery_mapping.f.battery_id',
      'event_battery_mapping.f.target_day',
    ]);
  });
});

describe('capture mapping: addresses', () => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    'fe80::1',
    'fc00::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    'nonsense',
  ]) {
    it(`${address} is not public`, () => {
      expect(isPublicAddress(address)).to.equal(false);
    });
  }
  for (const address of ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'])
    it(`${address} is public`, () => {
      expect(isPublicAddress(address)).to.equal(true);
    });
  const urls: [string, boolean, boolean][] = [
    ['https://redcap.example.org/api/', false, true],
    ['http://127.0.0.1:80/api/', false, false],
    ['http://[::1]/api/', false, false],
    ['http://0x7f000001/api/', false, false],
    ['http://localhost/api/', false, false],
    ['http://127.0.0.1/api/', true, true],
    ['ftp://x/api/', true, false],
    ['nonsense', true, false],
    ['https://a:b@x.org/api/', true, false],
  ];
  for (const [url, allowPrivate, fine] of urls) {
    it(`${url} is ${fine ? 'taken' : 'refused'} ${allowPrivate ? 'with' : 'without'} private addresses`, () => {
      expect(captureUrlFault(url, allowPrivate) === undefined).to.equal(fine);
    });
  }
});
