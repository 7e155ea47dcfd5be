import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { addDays } from '../../workflows/domain/dates.js';
import { completePolicy } from '../../workflows/domain/policy.js';
import type { PolicyInput } from '../../workflows/domain/policy-schema.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import { plotNames, plotSvg } from '../../workflows/domain/simulation/plots.js';
import { Random } from '../../workflows/domain/simulation/random.js';
import type { SimulationResult } from '../../workflows/domain/simulation/result.js';
import { simulateAtOnce } from '../../workflows/domain/simulation/run.js';
import { root } from '../support/environment.js';
import { newStudy, unique, user } from '../support/http.js';
import { until } from '../support/service.js';
import { Stage } from './stage.js';

const window = (code: string, target_day: number, more: Record<string, unknown> = {}) => ({
  id: `w-${code}`, code, name: `Visit ${code}`, battery_id: null, target_day, window_before: 3, window_after: 3, is_baseline: target_day === 0, datacapture_event: null, sort_order: 0, ...more,
});
const event = (event_oid: string, target_day: number, more: Record<string, unknown> = {}) => ({
  id: `e-${event_oid}`, event_oid, name: `Event ${event_oid}`, battery_id: null, target_day, window_before: 3, window_after: 3, is_baseline: target_day === 0,
  repeating: null, datacapture_event: null, sort_order: 0, ...more,
});
/** A study in which everybody arrives on the first day, signs at once and comes on the day: what follows can be told by hand. */
const exact = { enrolment_days: 1, consent_rate: 1, consent_delay_days: 0, completion_rate: 1, late_rate: 0, on_target_rate: 1, avoid_days_off: 0, reanchor_rate: 0, reconsent_rate: 0, withdrawal_rate_per_year: 0 };

function inputs(more: Partial<Omit<SimulationInputs, 'policy'>> & { policy?: PolicyInput } = {}): SimulationInputs {
  return {
    participants: 50, months: 12, seed: 1, start_date: '2024-01-01', behaviour: {}, study: { start_date: '2024-01-01', timezone: 'UTC', consent_mode: 'econsent' },
    scheduling_mode: 'legacy', windows: [window('D0', 0), window('D30', 30), window('D180', 180)], mapping: {}, events: [], calendar: null, sites: [],
    ...more, policy: completePolicy(more.policy ?? {}),
  };
}
const run = (more: Parameters<typeof inputs>[0] = {}) => simulateAtOnce(inputs(more));
const text = (result: SimulationResult) => JSON.stringify(result);
const allHold = (result: SimulationResult) => expect(result.checks).to.deep.equal({ visits_add_up: true, days_add_up: true, weekdays_add_up: true, no_completion_lost: true, no_visit_doubled: true });

describe('the simulation of a study, pure', function () {

  describe('chance', () => {
    it('gives the same numbers for the same seed and stream, others for others', () => {
      const draw = (seed: number, stream: number) => { const r = new Random(seed, stream); return Array.from({ length: 8 }, () => r.next()); };
      expect(draw(1, 0)).to.deep.equal(draw(1, 0));
      const seen = new Set([[1, 0], [1, 1], [2, 0], [2 ** 32 + 1, 0], [2 ** 53 - 1, 0]].map(([seed, stream]) => draw(seed!, stream!).join()));
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
    const ids = (prefix: string) => ['D0', 'D30', 'D180'].map((code, i) => window(code, [0, 30, 180][i]!, { id: `${prefix}${i}` }));
    expect(text(run({ windows: ids('a') }))).to.equal(text(run({ windows: ids('b') })));
  });

  it('a study whose course can be told by hand comes out as told', () => {
    const result = run({ participants: 20, behaviour: exact });
    allHold(result);
    expect(result.totals.participants).to.deep.equal({ total: 20, arrived: 20, not_arrived: 0, unset: 0, provisional: 0, finalized: 20, withdrawn: 0 });
    expect(result.totals.visits).to.deep.equal({
      generated: 60, superseded: 0, standing: 60, completed_in_window: 60, completed_early: 0, completed_late: 0, missed: 0, frozen_by_withdrawal: 0, pending_at_end: 0,
    });
    expect(result.adherence.rate).to.equal(1);
    const busy = result.visits_per_day.filter((day) => day.due > 0);
    expect(busy).to.deep.equal(['2024-01-01', '2024-01-31', '2024-06-29'].map((date) => ({ date, due: 20, completed: 20, missed: 0 })));
    // Day 180 of a leap year's first of January is a Saturday.
    expect(result.load_by_weekday.filter((day) => day.due > 0).map((day) => [day.name, day.due])).to.deep.equal([['Monday', 20], ['Wednesday', 20], ['Saturday', 20]]);
    expect(result.clashes).to.include({ targets_on_weekend: 20, targets_on_holiday: 0, completed_on_weekend: 20 });
    expect(result.adherence.by_visit.map((v) => [v.code, v.due, v.rate])).to.deep.equal([['D0', 20, 1], ['D30', 20, 1], ['D180', 20, 1]]);
  });

  it('who never comes misses every window, on the day on which it closes', () => {
    const result = run({ participants: 10, behaviour: { ...exact, completion_rate: 0 } });
    allHold(result);
    expect(result.missed_windows).to.deep.equal({ total: 30, never_done: 30, done_late: 0 });
    expect(result.visits_per_day.filter((day) => day.missed > 0).map((day) => day.date)).to.deep.equal(['2024-01-04', '2024-02-03', '2024-07-02']);
    expect(result.adherence.rate).to.equal(0);
    const late = run({ participants: 10, behaviour: { ...exact, completion_rate: 0, late_rate: 1, late_days: 5 } });
    expect(late.missed_windows).to.deep.equal({ total: 30, never_done: 0, done_late: 30 });
  });

  it('in edc mode targets move off holidays and weekends as the service plans them', () => {
    const calendar = { id: 'c', weekend_days: [6, 7], holidays: [{ date: '2024-01-31', name: 'A day off' }] };
    const result = run({ participants: 5, behaviour: exact, scheduling_mode: 'edc', calendar, events: [event('BASE', 0), event('M1', 30), event('M6', 180)] });
    allHold(result);
    expect(result.visits_per_day.filter((day) => day.due > 0).map((day) => day.date)).to.deep.equal(['2024-01-01', '2024-02-01', '2024-07-01']);
    expect(result.clashes).to.include({ shifted_to_working_day: 10, targets_on_weekend: 0, targets_on_holiday: 0, no_working_day_in_window: 0 });
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
      const result = run({ participants: 200, behaviour: moving, study: { start_date: null, timezone: 'UTC', consent_mode: 'econsent' }, policy: { validation: { cannot_precede_consent: false, cannot_be_future: false } } });
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
      const never = run({ participants: 50, behaviour: moving, policy: { re_anchoring: { allow_after_data_entered: false } } });
      expect(never.reanchorings.granted).to.equal(0);
    });
    it('where the policy wants an approval it is waited for, denied, or comes too late', () => {
      const behaviour = { ...moving, approval_rate: 0, approval_delay_days: 1 };
      const policy = { permissions: { override_requires_approval: true }, validation: { cannot_precede_consent: false, cannot_be_future: false }, override_approval_timeout_hours: 720 };
      const study = { start_date: null, timezone: 'UTC', consent_mode: 'econsent' as const };
      const denied = run({ participants: 50, behaviour, policy, study }).reanchorings;
      expect([denied.requested, denied.granted, denied.denied, denied.expired]).to.deep.equal([50, 0, 50, 0]);
      const slow = run({ participants: 100, behaviour: { ...behaviour, approval_rate: 1, approval_delay_days: 10 }, policy: { ...policy, override_approval_timeout_hours: 24 }, study }).reanchorings;
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
    const sites = [{ site_code: 'AKL', timezone: 'Pacific/Auckland', calendar: null }, { site_code: 'NYC', timezone: 'America/New_York', calendar: null }];
    it('sites live in their own zones: clock changes are found, dates are local by the policy', () => {
      const local = run({ participants: 100, sites });
      expect(local.time.zones.map((z) => [z.zone, z.clock_changes])).to.deep.equal([
        ['America/New_York', ['2024-03-10', '2024-11-03']], ['Pacific/Auckland', ['2024-04-07', '2024-09-29']],
      ]);
      expect(local.time.zones.reduce((sum, z) => sum + z.participants, 0)).to.equal(100);
      expect(local.time.anchors_off_local_date).to.equal(0);
      const utc = run({ participants: 100, sites, policy: { time_precision: { timezone_policy: 'utc' } } });
      expect(utc.time.anchors_off_local_date).to.be.greaterThan(20);
      allHold(local);
      allHold(utc);
    });
    it('two years over a leap day have as many days as the calendar', () => {
      expect(run({ participants: 1, months: 24, start_date: '2023-02-28' }).simulation).to.include({ days: 731, end_date: '2025-02-27' });
      expect(run({ participants: 1, months: 1, start_date: '2024-01-31' }).simulation).to.include({ days: 29, end_date: '2024-02-28' });
    });
  });

  it('the policy decides: what it does not allow does not happen', () => {
    const randomized = run({ policy: { anchor_type: 'randomization', sources: [{ type: 'randomization' }], prerequisites: { require_consent_signed: true, require_eligibility_confirmed: true } }, behaviour: { ...exact, eligibility_rate: 0 } });
    expect(randomized.totals.participants).to.include({ finalized: 0, unset: 50 });
    const tooEarly = run({ study: { start_date: '2024-06-01', timezone: 'UTC', consent_mode: 'econsent' }, behaviour: exact });
    expect(tooEarly.totals.participants.finalized).to.equal(0);
    expect(tooEarly.anchors.validation_faults.BEFORE_STUDY_START).to.be.greaterThan(49);
    const form = run({ policy: { sources: [{ type: 'form_item', form_mapping: { form_oid: 'F', item_oid: 'I' } }] }, behaviour: { ...exact, partial_date_rate: 1 } });
    expect(form.totals.participants.unset).to.equal(50);
    const middle = run({ policy: { sources: [{ type: 'form_item', form_mapping: { form_oid: 'F', item_oid: 'I', partial_date_handling: 'first_of_month' } }], validation: { cannot_precede_consent: false } }, behaviour: { ...exact, partial_date_rate: 1 } });
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
      {}, { schedule_on_provisional: true, prerequisites: { require_randomization: true } }, { multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true } },
      { permissions: { override_requires_approval: true }, time_precision: { precision: 'datetime', timezone_policy: 'utc' } },
      { anchor_type: 'baseline_visit', sources: [], schedule_on_provisional: true },
      { sources: [{ type: 'form_item', form_mapping: { form_oid: 'F', item_oid: 'I', partial_date_handling: 'last_of_month' } }, { type: 'manual_entry' }] },
      { sources: [{ type: 'computed_rule', computed_rule: { expression: 'addDays(consent.date, 1)' } }], validation: { cannot_be_future: false } },
    ];
    const studies = fc.record({
      seed: fc.maxSafeNat(), policy: fc.constantFrom(...policies), scheduling_mode: fc.constantFrom('legacy' as const, 'edc' as const),
      start: fc.integer({ min: 0, max: 3_000 }), months: fc.integer({ min: 1, max: 9 }), before: fc.nat(10), after: fc.nat(10), every: fc.integer({ min: 1, max: 40 }), count: fc.integer({ min: 1, max: 6 }),
      behaviour: fc.record({
        completion_rate: share, late_rate: share, reanchor_rate: share, withdrawal_rate_per_year: share, reconsent_rate: share, avoid_days_off: share, approval_rate: share, partial_date_rate: share,
        reanchor_within_days: fc.integer({ min: 1, max: 60 }), reanchor_max_shift_days: fc.integer({ min: 1, max: 60 }),
      }),
    });
    fc.assert(fc.property(studies, ({ seed, policy, scheduling_mode, start, months, before, after, every, count, behaviour }) => {
      const start_date = addDays('2019-11-01', start);
      const days = { window_before: before, window_after: after };
      const result = run({
        participants: 8, months, seed, start_date, policy, scheduling_mode, behaviour, study: { start_date, timezone: 'Europe/Berlin', consent_mode: 'econsent' },
        windows: [window('D0', 0, days), window('Dx', every, days), window('Dy', every * 3, days)],
        events: [event('BASE', 0, days), event('R', every, { ...days, repeating: { count, every_days: every } })],
        calendar: { id: 'c', weekend_days: [6, 7], holidays: [{ date: addDays(start_date, 20), name: 'x' }, { date: addDays(start_date, 40), name: 'y' }] },
      });
      allHold(result);
    }), { numRuns: 150 });
  });

  it('a plot is well-formed, names its axes and says what it shows; names from outside stay text', () => {
    const result = run({ windows: [window('<b>&"x"</b>', 0)] });
    for (const name of plotNames) {
      const svg = plotSvg(name, result);
      expect(svg).to.match(/^<svg [^>]*role="img" aria-labelledby="chart-title chart-description"/).and.match(/<title id="chart-title">[^<]+<\/title>/).and.match(/<desc id="chart-description">[^<]{30,}<\/desc>/);
      expect(svg).to.not.include('<b>').and.not.match(/NaN|undefined|Infinity/);
    }
    expect(plotSvg('adherence_by_visit', result)).to.include('&#60;b&#62;');
  });

  it('1,000 participants over 24 months take seconds', () => {
    const began = process.cpuUsage();
    const result = run({ participants: 1000, months: 24, windows: Array.from({ length: 20 }, (_, i) => window(`D${i * 35}`, i * 35)) });
    const { user: used, system } = process.cpuUsage(began);
    allHold(result);
    expect((used + system) / 1e6, 'seconds of a core').to.be.below(10);
  });
});

describe('npm run simulate', function () {
  const folder = mkdtempSync(join(tmpdir(), 'simulate-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = (content: unknown) => {
    const path = join(folder, `${unique('study')}.json`);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const program = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
    try {
      return { code: 0, ...await promisify(execFile)(process.execPath, ['--import', 'tsx', join(root, 'scripts', 'simulate.ts'), ...args], { cwd: root }) };
    } catch (fault) {
      return fault as { code: number; stdout: string; stderr: string };
    }
  };

  it('simulates a policy file without a server and writes result and plots: the same bytes as within the program', async () => {
    const study = {
      policy: { re_anchoring: { max_shift_days: 7 } }, study: { start_date: '2024-01-01' }, sites: [{ site_code: 'B', timezone: 'Europe/Berlin' }],
      windows: [{ code: 'D0', name: 'Visit D0', target_day: 0, window_before: 3, window_after: 3, is_baseline: true }],
    };
    const out = join(folder, 'out');
    const { code, stdout } = await program(file(study), '--participants', '40', '--months', '6', '--seed', '9', '--out', out);
    expect(code, stdout).to.equal(0);
    const written = readFileSync(join(out, 'simulation.json'), 'utf8').trim();
    const within = run({
      participants: 40, months: 6, seed: 9, policy: study.policy, sites: [{ site_code: 'B', timezone: 'Europe/Berlin', calendar: null }], windows: [window('D0', 0)],
    });
    expect(written).to.equal(text(within));
    expect(stdout).to.include('40 participants × 6 months').and.include(createHash('sha256').update(written).digest('hex'));
    expect(readdirSync(out).sort()).to.deep.equal(['simulation.json', ...plotNames.map((name) => `${name}.svg`)].sort());
  });

  it('names what is wrong with a file in one sentence, and ends with an exit code', async () => {
    const cases: [string[], RegExp][] = [
      [[], /^Usage: npm run simulate/],
      [[join(folder, 'none.json')], /cannot be read \(ENOENT\)/],
      [[file('{"policy": ')], /is not valid JSON/],
      [[file({ permissions: { can_set: ['boss'] } })], /permissions\.can_set\.0 must be one of/],
      [[file({ windows: [{ code: 'x' }] })], /windows\.0\.name is required/],
      [[file({}), '--participants', '0'], /--participants must be a whole number from 1/],
      [[file({}), '--start', '2023-02-29'], /--start must be a date/],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await program(...args);
      expect(stderr.trim()).to.match(message).and.not.include('\n');
      expect(code).to.equal(1);
    }
  });
});

interface SimulationView { simulation_id: string; status: string; progress: number; result: SimulationResult | null; result_sha256: string | null; plots: Record<string, string>; error: string | null }

describe('simulations over HTTP', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => { stage = await Stage.open(); });
  after(() => stage.close());
  const order = (study: string, body: Record<string, unknown>) => stage.admin.post<{ simulation_id: string; status: string; status_url: string; code: string; errors: { path: string; code: string }[] }>(`/api/studies/${study}/simulations`, body);
  const finished = (url: string) => until(async () => {
    const found = await stage.admin.expect<SimulationView>(200, 'GET', url);
    return found.status === 'completed' || found.status === 'failed' ? found : undefined;
  }, { timeout: 90_000, interval: 200, what: 'the simulation to end' });
  const completed = async (study: string, body: Record<string, unknown>) => {
    const answer = await order(study, body);
    expect(answer.status, answer.text).to.equal(202);
    const found = await finished(answer.body.status_url);
    expect(found, found.error ?? '').to.include({ status: 'completed', progress: 1, error: null });
    return found;
  };
  /** Rows and content of all that belongs to the study, but for what a simulation leaves of itself and what is on its way. */
  const contentOf = async (study: string) => {
    const tables = await stage.sql<{ name: string }>(
      `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
       where c.relkind in ('r', 'p') and not c.relispartition and c.relname not in ('simulations', 'audit_log', 'audit_chains', 'outbox', 'open_study_changes')
         and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'study_id') order by 1`);
    const content: Record<string, unknown> = {};
    for (const { name } of tables) {
      content[name] = (await stage.sql(`select count(*)::int as rows, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as md5 from ${name} t where study_id = ?`, [study]))[0];
    }
    content.studies = (await stage.sql('select md5(s::text) as md5 from studies s where id = ?', [study]))[0];
    return content;
  };

  it('a study as it stands is simulated by a workflow; the same seed gives the same bytes; nothing of the study is changed', async () => {
    const study = await stage.study({ sources: [{ type: 'consent_workflow' }] }, { fields: { start_date: '2024-01-01' }, days: [0, 30, 90] });
    await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'NYC', timezone: 'America/New_York' });
    const person = await study.person();
    await person.consent('2024-03-10T12:00:00Z');
    await person.becomes({ status: 'finalized' });
    await person.settled();
    const before = await contentOf(study.id);
    expect(Object.keys(before).length).to.be.greaterThan(15);
    const body = { participants: 120, months: 9, seed: 42 };
    const [one, two] = await Promise.all([completed(study.id, body), completed(study.id, body)]);
    expect(await contentOf(study.id)).to.deep.equal(before);
    expect(one.result_sha256).to.match(/^[0-9a-f]{64}$/).and.to.equal(two.result_sha256);
    expect(text(one.result!)).to.equal(text(two.result!));
    expect(createHash('sha256').update(text(one.result!)).digest('hex')).to.equal(one.result_sha256);
    allHold(one.result!);
    expect(one.result!.simulation).to.include({ participants: 120, months: 9, seed: 42, start_date: '2024-01-01', scheduling_mode: 'legacy', sites: 1 });
    expect(one.result!.adherence.by_visit.map((v) => v.code)).to.deep.equal(['D0', 'D30', 'D90']);
    expect((await stage.temporal.workflow.getHandle(`study-simulation/${one.simulation_id}`).describe()).status.name).to.equal('COMPLETED');
    expect((await study.audit('simulation_ordered')).map((a) => a.audit_metadata)).to.deep.equal([{ participants: 120, months: 9, seed: 42 }, { participants: 120, months: 9, seed: 42 }]);
    const listed = await stage.admin.expect<{ items: { simulation_id: string; result?: unknown }[]; total: number }>(200, 'GET', `/api/studies/${study.id}/simulations`);
    expect([listed.total, listed.items.map((i) => i.simulation_id).sort()]).to.deep.equal([2, [one.simulation_id, two.simulation_id].sort()]);

    expect(Object.keys(one.plots).sort()).to.deep.equal([...plotNames].sort());
    for (const [name, url] of Object.entries(one.plots)) {
      const plot = await stage.admin.get(url);
      expect([plot.status, plot.headers.get('content-type')]).to.deep.equal([200, 'image/svg+xml; charset=utf-8']);
      expect(plot.text).to.equal(plotSvg(name as (typeof plotNames)[number], one.result!));
    }
  });

  it('an edc study is simulated with its events and calendars, a site’s own among them', async () => {
    const { id } = await newStudy(stage.admin, { start_date: '2024-01-01', config: { scheduling_mode: 'edc' } });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${id}/sites`, { site_code: 'RUH', timezone: 'Asia/Riyadh' });
    await stage.admin.expect(201, 'POST', `/api/studies/${id}/holiday-calendars`, { name: 'there', site_id: site.id, weekend_days: [5, 6] });
    await stage.admin.expect(201, 'POST', `/api/studies/${id}/event-definitions`, { event_oid: 'W', name: 'Weekly', target_day: 4, window_after: 3, repeating: { count: 4, every_days: 7 } });
    const { result } = await completed(id, { participants: 20, months: 2, behaviour: { ...exact } });
    // Monday the first of January and four days: a Friday, which is the weekend there. Sunday is the next day of work.
    expect(result!.load_by_weekday.filter((d) => d.due > 0).map((d) => [d.name, d.due])).to.deep.equal([['Sunday', 80]]);
    expect(result!.clashes).to.include({ shifted_to_working_day: 80, targets_on_weekend: 0 });
    expect(result!.adherence.by_visit.map((v) => v.code)).to.deep.equal(['W#1', 'W#2', 'W#3', 'W#4']);
  });

  it('the order repeated under one Idempotency-Key is one simulation', async () => {
    const study = await stage.study({}, { days: [0] });
    const headers = { 'Idempotency-Key': unique('key') };
    const post = () => stage.admin.post<{ simulation_id: string }>(`/api/studies/${study.id}/simulations`, { participants: 1, months: 1 }, { headers });
    const [first, again] = [await post(), await post()];
    expect([first.status, again.status, again.body.simulation_id]).to.deep.equal([202, 202, first.body.simulation_id]);
  });

  describe('what is refused', () => {
    let study: string;
    before(async () => { study = (await stage.study({}, { days: [0, 30] })).id; });
    const wrong: [title: string, body: Record<string, unknown>, path: string, code: string][] = [
      ['nobody', { participants: 0, months: 1, seed: 1 }, 'participants', 'MINIMUM'],
      ['too many participants', { participants: 5001, months: 1, seed: 1 }, 'participants', 'MAXIMUM'],
      ['no months', { participants: 1, seed: 1 }, 'months', 'REQUIRED'],
      ['too many months', { participants: 1, months: 61, seed: 1 }, 'months', 'MAXIMUM'],
      ['half a month', { participants: 1, months: 1.5, seed: 1 }, 'months', 'TYPE'],
      ['a seed that is no whole number', { participants: 1, months: 1, seed: 'x' }, 'seed', 'TYPE'],
      ['a seed below nothing', { participants: 1, months: 1, seed: -1 }, 'seed', 'MINIMUM'],
      ['a first day that is none', { participants: 1, months: 1, seed: 1, start_date: '2023-02-29' }, 'start_date', 'FORMAT'],
      ['a first day of another age', { participants: 1, months: 1, seed: 1, start_date: '0001-01-01' }, 'start_date', 'OUT_OF_RANGE'],
      ['a share over one', { participants: 1, months: 1, seed: 1, behaviour: { completion_rate: 1.1 } }, 'behaviour.completion_rate', 'MAXIMUM'],
      ['a behaviour that is none', { participants: 1, months: 1, seed: 1, behaviour: { luck: 1 } }, 'behaviour.luck', 'UNKNOWN_FIELD'],
      ['a field that is none', { participants: 1, months: 1, seed: 1, colour: 'red' }, 'colour', 'UNKNOWN_FIELD'],
    ];
    for (const [title, body, path, code] of wrong) {
      it(`${title}: 422 at ${path}`, async () => {
        const answer = await order(study, body);
        expect([answer.status, answer.body.errors?.[0]?.path, answer.body.errors?.[0]?.code]).to.deep.equal([422, path, code]);
      });
    }

    it('more planned visits than can be simulated: 422 that names the number', async () => {
      const { id } = await newStudy(stage.admin, { config: { scheduling_mode: 'edc' } });
      await stage.admin.expect(201, 'POST', `/api/studies/${id}/event-definitions`, { event_oid: 'DAILY', name: 'Daily', target_day: 0, repeating: { count: 366, every_days: 1 } });
      const answer = await order(id, { participants: 5000, months: 1, seed: 1 });
      expect([answer.status, answer.body.errors[0]!.code]).to.deep.equal([422, 'TOO_LARGE']);
    });

    it('a plot of another name 404, of a simulation that has no result yet 409, a simulation of another study 404', async () => {
      const id = '5f1d6a10-0000-4000-8000-00000000abcd'.replace('abcd', unique('').slice(1, 5));
      await stage.sql(`insert into simulations (id, study_id, participants, months, seed, inputs) values (?, ?, 1, 1, 1, '{}')`, [id, study]);
      const path = `/api/studies/${study}/simulations/${id}`;
      expect((await stage.admin.get(`${path}/plots/adherence.svg`)).status).to.equal(409);
      for (const name of ['colour.svg', 'adherence', 'constructor.svg']) expect((await stage.admin.get(`${path}/plots/${name}`)).status, name).to.equal(404);
      const other = await newStudy(stage.admin);
      expect((await stage.admin.get(`/api/studies/${other.id}/simulations/${id}`)).status).to.equal(404);
      await stage.sql('delete from simulations where id = ?', [id]);
    });

    it('a coordinator reads simulations and does not order them; a stranger finds none', async () => {
      const other = await newStudy(stage.admin);
      const [coordinator, stranger] = await Promise.all([user(stage.admin, 'coordinator', { study_ids: [study] }), user(stage.admin, 'researcher', { study_ids: [other.id] })]);
      const path = `/api/studies/${study}/simulations`;
      expect((await coordinator.get(path)).status).to.equal(200);
      expect((await coordinator.post(path, { participants: 1, months: 1 })).status).to.equal(403);
      expect((await stranger.get(path)).status).to.equal(404);
    });

    it('an eleventh that waits: 409', async () => {
      const { id } = await newStudy(stage.admin);
      for (let i = 0; i < 10; i++) await stage.sql(`insert into simulations (study_id, participants, months, seed, inputs) values (?, 1, 1, 1, '{}')`, [id]);
      const answer = await order(id, { participants: 1, months: 1, seed: 1 });
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'TOO_MANY_SIMULATIONS']);
    });
  });
});
