import { expect } from 'chai';
import fc from 'fast-check';
import { World, people, utcDay, whileTheDayLasts, within } from './world.js';
import type { Narrowed } from './world.js';

const RUNS = 4;
interface Summary {
  participants: Record<string, number>;
  sessions: Record<string, number>;
  visits: Record<string, number>;
  anchors: Record<string, number>;
  adherence: { due: number; completed_in_window: number; rate: number | null };
  filters: Narrowed;
  generated_at: string;
}
interface Completion {
  by_window: {
    code: string | null;
    due: number;
    completed: number;
    in_window: number;
    late: number;
    missed: number;
    rate: number | null;
  }[];
}
interface Sites {
  items: {
    site_code: string | null;
    participants: number;
    sessions: number;
    visits_completed: number;
    visits_missed: number;
  }[];
}
interface Enrollment {
  total: number;
  without_date: number;
  by_month: { month: string; enrolled: number; cumulative: number }[];
  by_site: { enrolled: number }[];
}
interface Modules {
  by_task: {
    task: string;
    sessions: number;
    metrics: Record<
      string,
      { n: number; mean: number; sd: number | null; median: number; p25: number; p75: number; min: number; max: number }
    >;
  }[];
}
interface Visits {
  items: { id: string; status: string; adherence: string; days_off_target: number | null; target_date: string }[];
  total: number;
}

const STATUSES = ['scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'];

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
const filters: fc.Arbitrary<Narrowed> = fc
  .record({
    from: fc.option(fc.integer({ min: -70, max: 0 }).map(utcDay), { nil: undefined }),
    to: fc.option(fc.integer({ min: 0, max: 30 }).map(utcDay), { nil: undefined }),
    site_code: fc.constantFrom(undefined, undefined, 'S1'),
    arm: fc.constantFrom(undefined, undefined, 'A'),
  })
  .map((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));

describe('The reports of a study', function () {
  this.timeout(120_000);

  it('say what its rows say, and the same as each other, whatever the filter', async () => {
    await fc.assert(
      fc.asyncProperty(people, filters, async (given, filter) => {
        await whileTheDayLasts();
        const world = await World.open();
        try {
          await world.add(given);
          const query = `?${new URLSearchParams({ ...filter })}`;
          const takes = within(filter);
          const persons = world.people.filter(takes.person);
          const visits = world.visits.filter(takes.visit);
          const sessions = world.people.flatMap((person) =>
            person.given.sessions.filter((session) => takes.session(person, session)),
          );
          const due = visits.filter(({ adherence }) =>
            ['early', 'in_window', 'late', 'missed'].includes(adherence ?? ''),
          );

          const summary = await world.report<Summary>('summary', query);
          expect(summary.participants).to.deep.equal({
            total: persons.length,
            enrolled: persons.filter((p) => !p.given.withdrawn).length,
            withdrawn: persons.filter((p) => p.given.withdrawn).length,
          });
          expect(summary.sessions).to.deep.equal({
            total: sessions.length,
            completed: sessions.filter((s) => s.status === 'completed').length,
            expired: sessions.filter((s) => s.status === 'expired').length,
          });
          for (const status of STATUSES)
            expect(summary.visits[status], status).to.equal(visits.filter((v) => v.status === status).length);
          expect(summary.visits.total).to.equal(visits.length);
          expect(summary.anchors).to.deep.equal({ unset: persons.length, provisional: 0, finalized: 0, overridden: 0 });
          const inWindow = visits.filter((v) => v.adherence === 'in_window').length;
          expect(summary.adherence).to.deep.equal({
            due: due.length,
            completed_in_window: inWindow,
            rate: due.length === 0 ? null : inWindow / due.length,
          });
          expect(summary.filters).to.deep.equal({ from: null, to: null, site_code: null, arm: null, ...filter });

          const { by_window } = await world.report<Completion>('completion', query);
          expect(by_window.slice(0, 3).map(({ code }) => code)).to.deep.equal(['W0', 'W1', 'W2']);
          for (const row of by_window) {
            const own = due.filter((v) => v.window === row.code);
            expect({ due: row.due, completed: row.completed, missed: row.missed }, String(row.code)).to.deep.equal({
              due: own.length,
              completed: own.filter((v) => v.status === 'completed').length,
              missed: own.filter((v) => v.adherence === 'missed').length,
            });
            expect(row.rate).to.equal(row.due === 0 ? null : row.completed / row.due);
          }
          expect(sum(by_window, (w) => w.due)).to.equal(summary.adherence.due);
          expect(sum(by_window, (w) => w.in_window)).to.equal(summary.adherence.completed_in_window);
          expect(sum(by_window, (w) => w.completed)).to.equal(summary.visits.completed);
          expect(sum(by_window, (w) => w.missed)).to.equal(summary.visits.missed);
          expect(sum(by_window, (w) => w.late)).to.equal(visits.filter((v) => v.adherence === 'late').length);

          const sites = await world.report<Sites>('sites', query);
          expect(sum(sites.items, (s) => s.participants)).to.equal(summary.participants.total);
          expect(sum(sites.items, (s) => s.sessions)).to.equal(summary.sessions.total);
          expect(sum(sites.items, (s) => s.visits_completed)).to.equal(summary.visits.completed);
          expect(sum(sites.items, (s) => s.visits_missed)).to.equal(summary.visits.missed);

          const enrollment = await world.report<Enrollment>('enrollment', query);
          expect(enrollment.total).to.equal(summary.participants.total);
          expect(sum(enrollment.by_month, (m) => m.enrolled) + enrollment.without_date).to.equal(enrollment.total);
          expect(sum(enrollment.by_site, (s) => s.enrolled)).to.equal(enrollment.total);
          for (const { month, enrolled } of enrollment.by_month)
            expect(enrolled, month).to.equal(persons.filter((p) => p.enrolled?.startsWith(month)).length);
          expect(enrollment.by_month.at(-1)?.cumulative ?? 0).to.equal(enrollment.total - enrollment.without_date);

          const listed = await world.report<Visits>('visits', `${query}&limit=500`);
          expect(listed.total).to.equal(summary.visits.total! - summary.visits.superseded!);
          expect(listed.items.map((v) => v.adherence).sort()).to.deep.equal(
            visits.flatMap((v) => v.adherence ?? []).sort(),
          );
          expect(listed.items.map((v) => v.days_off_target).sort()).to.deep.equal(
            visits
              .filter((v) => v.adherence !== null)
              .map((v) => v.off)
              .sort(),
          );

          const task = (await world.report<Modules>('modules', query)).by_task[0];
          expect(task?.sessions ?? 0).to.equal(sessions.length);
          if (task)
            expectDistribution(
              task.metrics.mean_rt!,
              sessions.map((s) => s.rt),
            );

          // Who sees one site and asks without a filter is told of that site alone.
          const ofSite = within({ site_code: 'S1' });
          const rts = world.people.flatMap((person) =>
            person.given.sessions.filter((session) => ofSite.session(person, session)).map((session) => session.rt),
          );
          const narrowed = { headers: { 'X-Site-ID': world.site } };
          const { body: modules } = await world.http.get<Modules>(
            `/api/reports/studies/${world.study}/modules`,
            narrowed,
          );
          expect(modules.by_task[0]?.sessions ?? 0).to.equal(rts.length);
          if (rts.length > 0) expectDistribution(modules.by_task[0]!.metrics.mean_rt!, rts);
          const { body: totals } = await world.http.get<Record<string, number>>(
            `/api/reports/summary?study_id=${world.study}`,
            narrowed,
          );
          expect([totals.participants, totals.sessions, totals.visits]).to.deep.equal([
            world.people.filter(ofSite.person).length,
            rts.length,
            world.visits.filter(ofSite.visit).length,
          ]);
          const ofTheSite = world.visits.filter(ofSite.visit);
          const { body: narrowedSummary } = await world.http.get<Summary>(
            `/api/reports/studies/${world.study}/summary`,
            narrowed,
          );
          expect(narrowedSummary.visits).to.deep.equal(
            Object.fromEntries([
              ['total', ofTheSite.length],
              ...STATUSES.map((status) => [status, ofTheSite.filter((v) => v.status === status).length]),
            ]),
          );
          expect(narrowedSummary.adherence.completed_in_window).to.equal(
            ofTheSite.filter((v) => v.adherence === 'in_window').length,
          );

          // A list of visits has as many, by every status, for who sees everybody and for who sees one site.
          for (const [headers, seen] of [
            [{}, world.visits],
            [narrowed.headers, ofTheSite],
          ] as const) {
            for (const status of [undefined, ...STATUSES]) {
              const { body: page } = await world.http.get<{ items: { status: string }[]; total: number }>(
                `/api/schedules/visits?study_id=${world.study}&limit=500&sort=-target_date${status ? `&status=${status}` : ''}`,
                { headers },
              );
              const expected = seen.filter((v) => status === undefined || v.status === status);
              expect(page.total, `visits listed, ${status ?? 'of any status'}`).to.equal(expected.length);
              expect(page.items.map((v) => v.status).sort()).to.deep.equal(expected.map((v) => v.status).sort());
            }
          }
          for (const adherence of ['early', 'in_window', 'late', 'missed', 'pending', 'cancelled'])
            expect((await world.report<Visits>('visits', `${query}&adherence=${adherence}`)).total, adherence).to.equal(
              visits.filter((v) => v.adherence === adherence).length,
            );
        } finally {
          await world.close();
        }
      }),
      { numRuns: RUNS },
    );
  });
});

function expectDistribution(shown: Record<string, number | null>, values: number[]): void {
  const sorted = [...values].sort((a, b) => a - b),
    n = values.length;
  const mean = sum(values, (v) => v) / n;
  const at = (share: number) => {
    const place = share * (n - 1),
      low = Math.floor(place);
    return sorted[low]! + (place - low) * ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!);
  };
  expect(shown.n).to.equal(n);
  expect(shown.min).to.equal(sorted[0]);
  expect(shown.max).to.equal(sorted.at(-1));
  for (const [name, value] of Object.entries({ mean, median: at(0.5), p25: at(0.25), p75: at(0.75) }))
    expect(shown[name], name).to.be.closeTo(value, 1e-6);
  if (n === 1) expect(shown.sd).to.equal(null);
  else expect(shown.sd).to.be.closeTo(Math.sqrt(sum(values, (v) => (v - mean) ** 2) / (n - 1)), 1e-6);
}
