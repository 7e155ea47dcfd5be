import { expect } from 'chai';
import fc from 'fast-check';
import { addDays } from '../../workflows/domain/util/dates.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { plotNames, plotSvg } from '../../api/simulation/plots.js';
import { Random } from '../../workflows/domain/simulation/random.js';
import { allHold, event, exact, run, text, window } from './simulated.js';

describe('the simulation of a study, pure', function () {
  describe('chance', () => {
    it('gives the same numbers for the same seed and stream, others for others', () => {
      const draw = (seed: number, stream: number) => {
        const r = new Random(seed, stream);
        return Array.from({ length: 8 }, () => r.next());
      };
      expect(draw(1, 0)).to.deep.equal(draw(1, 0));
      const seen = new Set(
        [
          [1, 0],
          [1, 1],
          [2, 0],
          [2 ** 32 + 1, 0],
          [2 ** 53 - 1, 0],
        ].map(([seed, stream]) => draw(seed!, stream!).join()),
      );
      expect(seen.size).to.equal(5);
    });
    it('is spread evenly, and its waits have the mean that was asked for', () => {
      const random = new Random(7, 3);
      const bins = new Array<number>(10).fill(0);
      for (let i = 0; i < 100_000; i++) bins[random.below(10)]! += 1;
      for (const bin of bins) expect(bin).to.be.within(9_600, 10_400);
      const mean = Array.from({ length: 20_000 }, () => random.days(5)).reduce((a, b) => a + b, 0) / 20_000;
      expect(mean).to.be.within(4.4, 5.1);
    });
  });

  it('the same seed gives the same bytes, plots included; another seed others', () => {
    const [one, two, other] = [run({ seed: 42 }), run({ seed: 42 }), run({ seed: 43 })];
    expect(text(one)).to.equal(text(two));
    expect(text(one)).to.not.equal(text(other));
    for (const name of plotNames) expect(plotSvg(name, one)).to.equal(plotSvg(name, two));
  });

  it('ids of the study are not in the result: a copy of the study gives the same', () => {
    const ids = (prefix: string) =>
      ['D0', 'D30', 'D180'].map((code, i) => window(code, [0, 30, 180][i]!, { id: `${prefix}${i}` }));
    expect(text(run({ windows: ids('a') }))).to.equal(text(run({ windows: ids('b') })));
  });

  it('a study whose course can be told by hand comes out as told', () => {
    const result = run({ participants: 20, behaviour: exact });
    allHold(result);
    expect(result.totals.participants).to.deep.equal({
      total: 20,
      arrived: 20,
      not_arrived: 0,
      unset: 0,
      provisional: 0,
      finalized: 20,
      withdrawn: 0,
    });
    expect(result.totals.visits).to.deep.equal({
      generated: 60,
      superseded: 0,
      standing: 60,
      completed_in_window: 60,
      completed_early: 0,
      completed_late: 0,
      missed: 0,
      frozen_by_withdrawal: 0,
      pending_at_end: 0,
    });
    expect(result.adherence.rate).to.equal(1);
    const busy = result.visits_per_day.filter((day) => day.due > 0);
    expect(busy).to.deep.equal(
      ['2024-01-01', '2024-01-31', '2024-06-29'].map((date) => ({ date, due: 20, completed: 20, missed: 0 })),
    );
    // Day 180 of a leap year's first of January is a Saturday.
    expect(result.load_by_weekday.filter((day) => day.due > 0).map((day) => [day.name, day.due])).to.deep.equal([
      ['Monday', 20],
      ['Wednesday', 20],
      ['Saturday', 20],
    ]);
    expect(result.clashes).to.include({ targets_on_weekend: 20, targets_on_holiday: 0, completed_on_weekend: 20 });
    expect(result.adherence.by_visit.map((v) => [v.code, v.due, v.rate])).to.deep.equal([
      ['D0', 20, 1],
      ['D30', 20, 1],
      ['D180', 20, 1],
    ]);
  });

  it('who never comes misses every window, on the day on which it closes', () => {
    const result = run({ participants: 10, behaviour: { ...exact, completion_rate: 0 } });
    allHold(result);
    expect(result.missed_windows).to.deep.equal({ total: 30, never_done: 30, done_late: 0 });
    expect(result.visits_per_day.filter((day) => day.missed > 0).map((day) => day.date)).to.deep.equal([
      '2024-01-04',
      '2024-02-03',
      '2024-07-02',
    ]);
    expect(result.adherence.rate).to.equal(0);
    const late = run({ participants: 10, behaviour: { ...exact, completion_rate: 0, late_rate: 1, late_days: 5 } });
    expect(late.missed_windows).to.deep.equal({ total: 30, never_done: 0, done_late: 30 });
  });

  it('in edc mode targets move off holidays and weekends as the service plans them', () => {
    const calendar = { id: 'c', weekend_days: [6, 7], holidays: [{ date: '2024-01-31', name: 'A day off' }] };
    const result = run({
      participants: 5,
      behaviour: exact,
      scheduling_mode: 'edc',
      calendar,
      events: [event('BASE', 0), event('M1', 30), event('M6', 180)],
    });
    allHold(result);
    expect(result.visits_per_day.filter((day) => day.due > 0).map((day) => day.date)).to.deep.equal([
      '2024-01-01',
      '2024-02-01',
      '2024-07-01',
    ]);
    expect(result.clashes).to.include({
      shifted_to_working_day: 10,
      targets_on_weekend: 0,
      targets_on_holiday: 0,
      no_working_day_in_window: 0,
    });
    expect(result.totals.generation_warnings).to.deep.equal({ HOLIDAY_SHIFTED: 10 });
  });

  it('withdrawal freezes: nothing moves after, and what was open is neither completed nor missed', () => {
    const result = run({ participants: 200, behaviour: { ...exact, withdrawal_rate_per_year: 1 } });
    allHold(result);
    expect(result.totals.participants.withdrawn).to.be.greaterThan(90);
    expect(result.totals.visits.frozen_by_withdrawal).to.be.greaterThan(50);
    expect(result.totals.visits.missed).to.equal(0);
  });

  describe('re-anchoring', () => {
    const moving = { ...exact, reanchor_rate: 1, reanchor_within_days: 60, reanchor_max_shift_days: 10 };
    it('overrides move what is open, keep what is done, and are refused by the policy’s own rules', () => {
      const result = run({
        participants: 200,
        behaviour: moving,
        study: { start_date: null, timezone: 'UTC', consent_mode: 'econsent' },
        policy: { validation: { cannot_precede_consent: false, cannot_be_future: false } },
      });
      allHold(result);
      const { requested, granted, refused, visits_moved, completed_carried, by_shift } = result.reanchorings;
      expect([requested, granted, refused]).to.deep.equal([200, 200, 0]);
      expect(by_shift.reduce((sum, s) => sum + s.count, 0)).to.equal(200);
      expect(visits_moved).to.be.greaterThan(200);
      expect(completed_carried).to.be.within(200, 400);
      expect(result.totals.visits.generated).to.equal(600 + result.totals.visits.superseded);
      // The former consent's day is the earliest that this policy takes: moves to before it are refused.
      const strict = run({ participants: 200, behaviour: moving });
      expect(strict.reanchorings.refusals.BEFORE_CONSENT).to.be.within(60, 140);
      expect(strict.reanchorings.granted + strict.reanchorings.refused).to.equal(200);
      const never = run({
        participants: 50,
        behaviour: moving,
        policy: { re_anchoring: { allow_after_data_entered: false } },
      });
      expect(never.reanchorings.granted).to.equal(0);
    });
    it('where the policy wants an approval it is waited for, denied, or comes too late', () => {
      const behaviour = { ...moving, approval_rate: 0, approval_delay_days: 1 };
      const policy = {
        permissions: { override_requires_approval: true },
        validation: { cannot_precede_consent: false, cannot_be_future: false },
        override_approval_timeout_hours: 720,
      };
      const study = { start_date: null, timezone: 'UTC', consent_mode: 'econsent' as const };
      const denied = run({ participants: 50, behaviour, policy, study }).reanchorings;
      expect([denied.requested, denied.granted, denied.denied, denied.expired]).to.deep.equal([50, 0, 50, 0]);
      const slow = run({
        participants: 100,
        behaviour: { ...behaviour, approval_rate: 1, approval_delay_days: 10 },
        policy: { ...policy, override_approval_timeout_hours: 24 },
        study,
      }).reanchorings;
      expect(slow.expired).to.be.greaterThan(50);
      expect(slow.granted + slow.expired + slow.denied + slow.refused).to.equal(100);
    });
    it('a further consent moves the date only where the policy lets it', () => {
      const behaviour = { ...exact, reconsent_rate: 1 };
      const latest = { anchor_consent: 'latest' as const, reconsent_updates_anchor: true };
      expect(run({ behaviour }).reanchorings.by_reconsent).to.equal(0);
      expect(run({ behaviour, policy: { multi_consent: latest } }).reanchorings.by_reconsent).to.be.greaterThan(40);
    });
  });

  describe('time', () => {
    const sites = [
      { site_code: 'AKL', timezone: 'Pacific/Auckland', calendar: null },
      { site_code: 'NYC', timezone: 'America/New_York', calendar: null },
    ];
    it('sites live in their own zones: clock changes are found, dates are local by the policy', () => {
      const local = run({ participants: 100, sites });
      expect(local.time.zones.map((z) => [z.zone, z.clock_changes])).to.deep.equal([
        ['America/New_York', ['2024-03-10', '2024-11-03']],
        ['Pacific/Auckland', ['2024-04-07', '2024-09-29']],
      ]);
      expect(local.time.zones.reduce((sum, z) => sum + z.participants, 0)).to.equal(100);
      expect(local.time.anchors_off_local_date).to.equal(0);
      const utc = run({ participants: 100, sites, policy: { time_precision: { timezone_policy: 'utc' } } });
      expect(utc.time.anchors_off_local_date).to.be.greaterThan(20);
      allHold(local);
      allHold(utc);
    });
    it('two years over a leap day have as many days as the calendar', () => {
      expect(run({ participants: 1, months: 24, start_date: '2023-02-28' }).simulation).to.include({
        days: 731,
        end_date: '2025-02-27',
      });
      expect(run({ participants: 1, months: 1, start_date: '2024-01-31' }).simulation).to.include({
        days: 29,
        end_date: '2024-02-28',
      });
    });
  });

  it('the policy decides: what it does not allow does not happen', () => {
    const randomized = run({
      policy: {
        anchor_type: 'randomization',
        sources: [{ type: 'randomization' }],
        prerequisites: { require_consent_signed: true, require_eligibility_confirmed: true },
      },
      behaviour: { ...exact, eligibility_rate: 0 },
    });
    expect(randomized.totals.participants).to.include({ finalized: 0, unset: 50 });
    const tooEarly = run({
      study: { start_date: '2024-06-01', timezone: 'UTC', consent_mode: 'econsent' },
      behaviour: exact,
    });
    expect(tooEarly.totals.participants.finalized).to.equal(0);
    expect(tooEarly.anchors.validation_faults.BEFORE_STUDY_START).to.be.greaterThan(49);
    const form = run({
      policy: { sources: [{ type: 'form_item', form_mapping: { form_oid: 'F', item_oid: 'I' } }] },
      behaviour: { ...exact, partial_date_rate: 1 },
    });
    expect(form.totals.participants.unset).to.equal(50);
    const middle = run({
      policy: {
        sources: [
          {
            type: 'form_item',
            form_mapping: { form_oid: 'F', item_oid: 'I', partial_date_handling: 'first_of_month' },
          },
        ],
        validation: { cannot_precede_consent: false },
      },
      behaviour: { ...exact, partial_date_rate: 1 },
    });
    expect(middle.totals.participants.finalized).to.equal(50);
  });

  it('a study without windows is simulated and says so', () => {
    const result = run({ windows: [] });
    allHold(result);
    expect(result.totals.generation_warnings).to.have.property('NO_VISIT_WINDOWS');
    expect(result.adherence).to.deep.include({ due: 0, rate: null });
    for (const name of plotNames) expect(plotSvg(name, result)).to.include('</svg>');
  });

  it('over random studies everything adds up, no completion is lost and no visit doubled', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const policies: PolicyInput[] = [
      {},
      { schedule_on_provisional: true, prerequisites: { require_randomization: true } },
      { multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true } },
      {
        permissions: { override_requires_approval: true },
        time_precision: { precision: 'datetime', timezone_policy: 'utc' },
      },
      { anchor_type: 'baseline_visit', sources: [], schedule_on_provisional: true },
      {
        sources: [
          { type: 'form_item', form_mapping: { form_oid: 'F', item_oid: 'I', partial_date_handling: 'last_of_month' } },
          { type: 'manual_entry' },
        ],
      },
      {
        sources: [{ type: 'computed_rule', computed_rule: { expression: 'addDays(consent.date, 1)' } }],
        validation: { cannot_be_future: false },
      },
    ];
    const studies = fc.record({
      seed: fc.maxSafeNat(),
      policy: fc.constantFrom(...policies),
      scheduling_mode: fc.constantFrom('legacy' as const, 'edc' as const),
      start: fc.integer({ min: 0, max: 3_000 }),
      months: fc.integer({ min: 1, max: 9 }),
      before: fc.nat(10),
      after: fc.nat(10),
      every: fc.integer({ min: 1, max: 40 }),
      count: fc.integer({ min: 1, max: 6 }),
      behaviour: fc.record({
        completion_rate: share,
        late_rate: share,
        reanchor_rate: share,
        withdrawal_rate_per_year: share,
        reconsent_rate: share,
        avoid_days_off: share,
        approval_rate: share,
        partial_date_rate: share,
        reanchor_within_days: fc.integer({ min: 1, max: 60 }),
        reanchor_max_shift_days: fc.integer({ min: 1, max: 60 }),
      }),
    });
    fc.assert(
      fc.property(
        studies,
        ({ seed, policy, scheduling_mode, start, months, before, after, every, count, behaviour }) => {
          const start_date = addDays('2019-11-01', start);
          const days = { window_before: before, window_after: after };
          const result = run({
            participants: 8,
            months,
            seed,
            start_date,
            policy,
            scheduling_mode,
            behaviour,
            study: { start_date, timezone: 'Europe/Berlin', consent_mode: 'econsent' },
            windows: [window('D0', 0, days), window('Dx', every, days), window('Dy', every * 3, days)],
            events: [event('BASE', 0, days), event('R', every, { ...days, repeating: { count, every_days: every } })],
            calendar: {
              id: 'c',
              weekend_days: [6, 7],
              holidays: [
                { date: addDays(start_date, 20), name: 'x' },
                { date: addDays(start_date, 40), name: 'y' },
              ],
            },
          });
          allHold(result);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('a plot is well-formed, names its axes and says what it shows; names from outside stay text', () => {
    const result = run({ windows: [window('<b>&"x"</b>', 0)] });
    for (const name of plotNames) {
      const svg = plotSvg(name, result);
      expect(svg)
        .to.match(/^<svg [^>]*role="img" aria-labelledby="chart-title chart-description"/)
        .and.match(/<title id="chart-title">[^<]+<\/title>/)
        .and.match(/<desc id="chart-description">[^<]{30,}<\/desc>/);
      expect(svg)
        .to.not.include('<b>')
        .and.not.match(/NaN|undefined|Infinity/);
    }
    expect(plotSvg('adherence_by_visit', result)).to.include('&lt;b>');
  });

  it('1,000 participants over 24 months take seconds', () => {
    const began = process.cpuUsage();
    const result = run({
      participants: 1000,
      months: 24,
      windows: Array.from({ length: 20 }, (_, i) => window(`D${i * 35}`, i * 35)),
    });
    const { user: used, system } = process.cpuUsage(began);
    allHold(result);
    expect((used + system) / 1e6, 'seconds of a core').to.be.below(10);
  });
});
