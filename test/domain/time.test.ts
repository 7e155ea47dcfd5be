import { expect } from 'chai';
import {
  addDays,
  dateIn,
  dayOfWeek,
  daysBetween,
  isDate,
  isZone,
  zoneName,
  readDateItem,
  yearsBetween,
} from '../../workflows/domain/util/dates.js';
import type { PartialHandling } from '../../workflows/domain/util/dates.js';
import { evaluate } from '../../workflows/domain/anchor/decide.js';
import { policyZone } from '../../workflows/domain/anchor/facts.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import { planVisits } from '../../workflows/domain/scheduling/schedule.js';
import { emptyFacts, windowOn } from '../property/model.js';

describe('dates of the anchor', () => {
  describe('an instant is the day that it is in the zone', () => {
    const rows: [zone: string, instant: string, day: string][] = [
      ['UTC', '2024-02-29T23:59:59.999Z', '2024-02-29'],
      // Clocks go forward in Berlin on 31 March 2024, back on 27 October.
      ['Europe/Berlin', '2024-03-30T22:59:59Z', '2024-03-30'],
      ['Europe/Berlin', '2024-03-30T23:00:00Z', '2024-03-31'],
      ['Europe/Berlin', '2024-03-31T21:59:59Z', '2024-03-31'],
      ['Europe/Berlin', '2024-03-31T22:00:00Z', '2024-04-01'],
      ['Europe/Berlin', '2024-10-26T22:00:00Z', '2024-10-27'],
      ['Europe/Berlin', '2024-10-27T22:59:59Z', '2024-10-27'],
      ['Europe/Berlin', '2024-10-27T23:00:00Z', '2024-10-28'],
      // New York changes on other days; Auckland the other way round.
      ['America/New_York', '2024-03-10T04:59:59Z', '2024-03-09'],
      ['America/New_York', '2024-03-11T03:59:59Z', '2024-03-10'],
      ['America/New_York', '2024-11-04T04:59:59Z', '2024-11-03'],
      ['Pacific/Auckland', '2024-04-06T10:59:59Z', '2024-04-06'],
      ['Pacific/Auckland', '2024-04-07T12:00:00Z', '2024-04-08'],
      // Midnight itself does not exist in Santiago on 8 September 2024, nor a whole day in Apia: 30 December 2011.
      ['America/Santiago', '2024-09-08T03:59:59Z', '2024-09-07'],
      ['America/Santiago', '2024-09-08T04:00:00Z', '2024-09-08'],
      ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29'],
      ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31'],
      ['Asia/Kathmandu', '2024-02-28T18:14:59Z', '2024-02-28'],
      ['Asia/Kathmandu', '2024-02-28T18:15:00Z', '2024-02-29'],
      ['Pacific/Kiritimati', '2024-02-28T10:00:00Z', '2024-02-29'],
      ['Pacific/Niue', '2024-03-01T10:59:59Z', '2024-02-29'],
    ];
    for (const [zone, instant, day] of rows)
      it(`${instant} in ${zone}: ${day}`, () => expect(dateIn(instant, zone)).to.equal(day));
  });

  describe('days are added as days, over leap days and changed clocks', () => {
    const rows: [from: string, days: number, to: string][] = [
      ['2024-02-28', 1, '2024-02-29'],
      ['2024-02-28', 2, '2024-03-01'],
      ['2023-02-28', 1, '2023-03-01'],
      ['2024-02-29', 365, '2025-02-28'],
      ['2024-02-29', 366, '2025-03-01'],
      ['1900-02-28', 1, '1900-03-01'],
      ['2000-02-28', 1, '2000-02-29'],
      ['2024-12-31', 1, '2025-01-01'],
      ['2024-03-30', 1, '2024-03-31'],
      ['2024-03-31', 1, '2024-04-01'],
      ['2024-10-27', -1, '2024-10-26'],
      ['2011-12-29', 1, '2011-12-30'],
      ['2024-03-01', -1, '2024-02-29'],
      ['2024-01-01', 36_500, '2123-12-08'],
    ];
    for (const [from, days, to] of rows) {
      it(`${from} ${days >= 0 ? '+' : ''}${days} = ${to}`, () => {
        expect(addDays(from, days)).to.equal(to);
        expect(daysBetween(from, to)).to.equal(days);
      });
    }
    it('a schedule over the changes of the clock has the windows of the rule', () => {
      const { visits } = planVisits('2024-03-28', [windowOn('A', 3), windowOn('B', 213)], {});
      expect(visits.map((v) => [v.target_date, v.window_open, v.window_close])).to.deep.equal([
        ['2024-03-31', '2024-03-28', '2024-04-07'],
        ['2024-10-27', '2024-10-24', '2024-11-03'],
      ]);
    });
    it('whole years and weekdays', () => {
      expect([
        yearsBetween('2004-02-29', '2024-02-28'),
        yearsBetween('2004-02-29', '2024-02-29'),
        yearsBetween('2004-02-29', '2023-02-28'),
        yearsBetween('2004-02-29', '2023-03-01'),
      ]).to.deep.equal([19, 20, 18, 19]);
      expect([dayOfWeek('2024-02-29'), dayOfWeek('2024-03-03')]).to.deep.equal([4, 7]);
    });
  });

  it('what is a date, and what is none', () => {
    for (const yes of ['2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31']) expect(isDate(yes), yes).to.equal(true);
    for (const no of [
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-10',
      '2024-04-31',
      '24-04-01',
      '2024-4-1',
      '2024-02',
      '',
      '2024-02-29T00:00',
      ' 2024-02-29',
    ])
      expect(isDate(no), no).to.equal(false);
  });

  it('what is a zone, and what is none', () => {
    for (const yes of ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati']) expect(isZone(yes), yes).to.equal(true);
    for (const no of ['', 'Mars/Olympus', '+01:00', '-05:00', 'x'.repeat(60)]) expect(isZone(no), no).to.equal(false);
    // Three letters mean several zones: India, Ireland or Israel. Those of System V are this platform's alone.
    for (const no of ['IST', 'BST', 'CST', 'AET', 'SystemV/EST5']) expect(isZone(no), no).to.equal(false);
    for (const [linked, zone] of [
      ['CET', 'Europe/Brussels'],
      ['met', 'Europe/Brussels'],
      ['EET', 'Europe/Athens'],
      ['WET', 'Europe/Lisbon'],
      ['US/Pacific-New', 'America/Los_Angeles'],
    ] as const)
      expect([isZone(linked), zoneName(linked)], linked).to.deep.equal([true, zone]);
  });

  describe('a date item of a form', () => {
    const rows: [raw: unknown, handling: PartialHandling, date: string | null, precision?: string, partial?: string][] =
      [
        ['2024-02-29', 'reject', '2024-02-29', 'date'],
        [' 2024-02-29 ', 'reject', '2024-02-29', 'date'],
        ['2023-02-29', 'first_of_month', null],
        ['2024-02', 'reject', null],
        ['2024-02', 'first_of_month', '2024-02-01', 'partial_month', '2024-02'],
        ['2024-02', 'middle_of_month', '2024-02-15', 'partial_month', '2024-02'],
        ['2024-02', 'last_of_month', '2024-02-29', 'partial_month', '2024-02'],
        ['2023-02', 'last_of_month', '2023-02-28', 'partial_month', '2023-02'],
        ['2024-04', 'last_of_month', '2024-04-30', 'partial_month', '2024-04'],
        ['2024-UN-UN', 'first_of_month', '2024-01-01', 'partial_year', '2024'],
        ['2024-02-UN', 'middle_of_month', '2024-02-15', 'partial_month', '2024-02'],
        ['2024-02-XX', 'last_of_month', '2024-02-29', 'partial_month', '2024-02'],
        ['2024', 'first_of_month', '2024-01-01', 'partial_year', '2024'],
        ['2024', 'last_of_month', '2024-12-31', 'partial_year', '2024'],
        ['2024', 'reject', null],
        ['2024-13', 'first_of_month', null],
        ['2024-00', 'first_of_month', null],
        ['in spring', 'first_of_month', null],
        ['', 'first_of_month', null],
        [null, 'first_of_month', null],
        [20240229, 'first_of_month', null],
        ['2024-03-31T01:30:00Z', 'reject', '2024-03-31', 'datetime'],
        ['2024-03-30T23:30:00Z', 'reject', '2024-03-31', 'datetime'],
        ['2024-03-31 00:30', 'reject', '2024-03-31', 'datetime'],
        ['2024-03-31T02:30', 'reject', '2024-03-31', 'datetime'],
        ['2024-02-30T10:00', 'reject', null],
        ['2024-03-01T24:00', 'reject', null],
        // An offset without minutes is one; so is that before the name of its zone.
        ['2024-03-31 05:30:00+09', 'reject', '2024-03-30', 'datetime'],
        ['2024-03-30T20:30:00.5-03', 'reject', '2024-03-31', 'datetime'],
        ['2024-03-31T05:30+09:00[Asia/Tokyo]', 'reject', '2024-03-30', 'datetime'],
        ['2024-03-31T05:30[Asia/Tokyo]', 'reject', null],
        // The calendar has no year 0, and none after 9999, neither here nor in UTC.
        ['0000-01-01', 'reject', null],
        ['0000-05', 'first_of_month', null],
        ['0000', 'first_of_month', null],
        ['0000-UN-UN', 'last_of_month', null],
        ['0000-06-01T10:00Z', 'reject', null],
        ['0001-01-01', 'reject', '0001-01-01', 'date'],
        ['0001-01-01T00:00', 'reject', null],
        ['0001-01-01T00:00Z', 'reject', '0001-01-01', 'datetime'],
        ['9999-12-31T23:30Z', 'reject', null],
        ['9999-12-31T23:30', 'reject', '9999-12-31', 'datetime'],
        ['2024-03-31T01:00+14:00', 'reject', '2024-03-30', 'datetime'],
      ];
    for (const [raw, handling, date, precision, partial] of rows) {
      it(`${JSON.stringify(raw)} under ${handling}, in Berlin: ${date}`, () => {
        const read = readDateItem(raw, 'Europe/Berlin', handling);
        expect(read && { date: read.date, precision: read.precision, partial: read.partial }).to.deep.equal(
          date === null ? null : { date, precision, partial: partial ?? null },
        );
      });
    }
  });

  describe('the three timezone policies around midnight', () => {
    // Signed at 23:30 on 29 February in Auckland: the 29th at the site, still the 29th in UTC; in New York half past
    // five in the morning.
    const where = { site_timezone: 'Pacific/Auckland', study_timezone: 'America/New_York' };
    const rows: [
      policy: Record<string, unknown>,
      where: { site_timezone: string | null; study_timezone: string },
      zone: string,
    ][] = [
      [{ timezone_policy: 'site_local' }, where, 'Pacific/Auckland'],
      [{ timezone_policy: 'site_local' }, { ...where, site_timezone: null }, 'America/New_York'],
      [{ timezone_policy: 'study_timezone' }, where, 'America/New_York'],
      [{ timezone_policy: 'study_timezone', study_timezone: 'Asia/Tokyo' }, where, 'Asia/Tokyo'],
      [{ timezone_policy: 'utc' }, where, 'UTC'],
    ];
    for (const [time_precision, at, zone] of rows)
      it(`${JSON.stringify(time_precision)}: ${zone}`, () =>
        expect(policyZone(completePolicy({ time_precision }), at)).to.equal(zone));

    for (const [zone, instant, date] of [
      ['Pacific/Auckland', '2024-02-29T10:30:00Z', '2024-02-29'],
      ['Pacific/Auckland', '2024-02-29T11:30:00Z', '2024-03-01'],
      ['America/New_York', '2024-03-01T04:30:00Z', '2024-02-29'],
      ['America/New_York', '2024-03-01T05:30:00Z', '2024-03-01'],
      ['UTC', '2024-02-29T23:30:00Z', '2024-02-29'],
    ] as const) {
      it(`a consent of ${instant} anchors in ${zone} on ${date}, and is not before itself`, () => {
        const facts = {
          ...emptyFacts(zone),
          consents: [{ id: 'c', consent_version_id: null, status: 'signed', signed_at: instant }],
        };
        const decision = evaluate(completePolicy({}), facts);
        expect([decision.result, decision.candidate?.date, decision.errors]).to.deep.equal(['set', date, []]);
      });
    }

    it('today is the zone’s: the same instant is tomorrow’s date for one policy and fine for the other', () => {
      const now = '2024-02-29T11:30:00.000000Z';
      const consents = [{ id: 'c', consent_version_id: null, status: 'signed', signed_at: '2024-01-01T00:00:00Z' }];
      const manual = { enrollment_date: '2024-03-01', entered_by_user_id: null };
      const policy = completePolicy({ sources: [{ type: 'manual_entry' }] });
      expect(evaluate(policy, { ...emptyFacts('Pacific/Auckland', now), consents, manual }).result).to.equal('set');
      expect(evaluate(policy, { ...emptyFacts('UTC', now), consents, manual }).errors.map((e) => e.code)).to.deep.equal(
        ['FUTURE_DATE'],
      );
    });
  });
});
