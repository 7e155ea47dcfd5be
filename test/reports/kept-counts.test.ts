import { expect } from 'chai';
import fc from 'fast-check';
import { Stage, patiently } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { formOf } from '../data/stage.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/until.js';
import { whileTheDayLasts } from './world.js';

const RUNS = asMuchAs(2, 3),
  /** Enough that the study's counts are kept in several parts. */
  OTHERS = 900;
const STATUSES = ['scheduled', 'open', 'missed', 'completed', 'cancelled', 'superseded'];
/** Done, or refused for a reason that the contract names. */
const FINE = [200, 201, 202, 204, 400, 404, 409];

type Step =
  | { kind: 'set' | 'override' | 'visit'; who: number; days: number }
  | { kind: 'complete' | 'cancel' | 'reopen'; who: number; which: number }
  | { kind: 'move'; who: number; which: number; days: number }
  | { kind: 'withdraw' | 'reinstate' | 'erase' | 'delete' | 'enroll' | 'other site' | 'import'; who: number }
  | { kind: 'window'; days: number }
  | { kind: 'zone' };
const who = fc.nat({ max: 4 }),
  which = fc.nat({ max: 5 }),
  days = fc.integer({ min: -60, max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('set', 'override', 'visit'), who, days }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('complete', 'cancel', 'reopen'), who, which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move'), who, which, days }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('withdraw', 'reinstate', 'erase', 'delete', 'enroll', 'other site', 'import'),
      who,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('window'), days: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('zone') }) },
) as fc.Arbitrary<Step>;

const utcDay = (by: number): string => new Date(Date.now() + by * 86_400_000).toISOString().slice(0, 10);

describe('The counts of visits that are kept between reports', function () {
  this.timeout(180_000);
  let stage: Stage;
  let api: ApiProcess | undefined;
  before(async () => {
    stage = await Stage.open();
  });
  after(async () => {
    await api?.stop();
    await stage.close();
  });

  interface Arranged {
    study: AnchorStudy;
    site: Loose;
    window: Loose;
    people: Person[];
  }
  async function arranged(): Promise<Arranged> {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] }, { days: [0, 7] });
    const window = await study.window(14, { code: 'MOVING' });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'S1',
      timezone: 'Pacific/Pago_Pago',
    });
    await stage.sql(
      `with people as (
         insert into participants (study_id, participant_code, created_at) select ?, 'O-' || n, now() + interval '1 day' from generate_series(1, ?::integer) n returning id, study_id)
       insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, name, target_date, window_open, window_close, status, completed_at)
       select gen_random_uuid(), p.study_id, p.id, ?, 'A visit', d.day, d.day - 2, d.day + 2, s.status, case when s.status = 'completed' then d.day + time '10:00' end
       from people p cross join lateral (select current_date + (hashtext(p.id::text) % 30) as day) d
       cross join lateral (select (array['scheduled', 'completed', 'cancelled', 'missed'])[1 + abs(hashtext(p.id::text)) % 4] as status) s`,
      [study.id, OTHERS, window.id],
    );
    return { study, site, window, people: [await study.person(), await study.person()] };
  }

  const reportOf = <T>(http: Http, study: string, name: string, query = '') =>
    http.expect<T>(200, 'GET', `/api/reports/studies/${study}/${name}${query}`);
  interface Counted {
    visits: Record<string, number>;
    adherence: unknown;
    by_window: unknown;
  }
  const countedBy = async (http: Http, study: string, query = ''): Promise<Counted> => {
    const { visits, adherence } = await reportOf<Counted>(http, study, 'summary', query);
    const { by_window } = await reportOf<Counted>(http, study, 'completion', query);
    return { visits, adherence, by_window };
  };
  const totalOf = async (study: string, status: string): Promise<number> => {
    const path = `/api/schedules/visits?study_id=${study}&limit=1&status=${status}`;
    return (await stage.admin.expect<{ total: number }>(200, 'GET', path)).total;
  };
  /** All that the counts are made of. */
  const standing = async (study: string): Promise<string> => {
    const [row] = await stage.sql<{ hash: string }>(
      `select md5(string_agg(v::text || p.status, '|' order by v.id)) as hash from scheduled_visits v join participants p on p.id = v.participant_id where v.study_id = ?`,
      [study],
    );
    return row!.hash;
  };
  /**
   * What is said of all visits is what is counted of those since 1900, for which nothing is kept. They are two requests:
   * where a step's own work went on between them they are asked again.
   */
  async function agree({ study: { id } }: Arranged, steps: string): Promise<void> {
    const read = await until(
      async () => {
        const before = await standing(id);
        const [kept, counted] = [
          await countedBy(stage.admin, id),
          await countedBy(stage.admin, id, '?from=1900-01-01'),
        ];
        const totals: Record<string, number> = {};
        for (const status of STATUSES) totals[status] = await totalOf(id, status);
        return (await standing(id)) === before ? { kept, counted, totals } : undefined;
      },
      { what: `visits to stand still ${steps}` },
    );
    expect(read.kept, steps).to.deep.equal(read.counted);
    for (const status of STATUSES) expect(read.totals[status], `${status} ${steps}`).to.equal(read.kept.visits[status]);
  }

  async function take(at: Arranged, one: Step): Promise<number> {
    const { admin: http } = stage;
    if (one.kind === 'window')
      return (await http.patch(`/api/schedules/windows/${at.window.id}`, { target_day: one.days })).status;
    if (one.kind === 'zone') {
      const { timezone } = await http.expect(200, 'GET', `/api/sites/${at.site.id}`);
      const next = timezone === 'Pacific/Pago_Pago' ? 'Pacific/Kiritimati' : 'Pacific/Pago_Pago';
      return (await http.patch(`/api/sites/${at.site.id}`, { timezone: next })).status;
    }
    const person = at.people[one.who % at.people.length]!;
    const own = `/api/participants/${person.id}`;
    const visitOf = async (index: number) => {
      const rows = await stage.sql<{ id: string }>(
        `select id from scheduled_visits where participant_id = ? and status <> 'superseded' order by visit_key`,
        [person.id],
      );
      return rows[index % Math.max(rows.length, 1)]?.id ?? 'none';
    };
    switch (one.kind) {
      case 'set':
        return (await person.set(utcDay(one.days))).status;
      case 'override':
        return (await person.override(utcDay(one.days))).status;
      case 'visit':
        return (
          await http.post('/api/schedules/visits', {
            participant_id: person.id,
            name: 'One more',
            target_date: utcDay(one.days),
          })
        ).status;
      case 'complete':
        return (await http.post(`/api/visits/${await visitOf(one.which)}/complete`, {})).status;
      case 'cancel':
      case 'reopen':
        return (await http.post(`/api/visits/${await visitOf(one.which)}/${one.kind}`, { reason: 'so it was' })).status;
      case 'move':
        return (await http.patch(`/api/visits/${await visitOf(one.which)}`, moved(one.days))).status;
      case 'enroll':
        at.people.push(await at.study.person({ site_code: 'S1' }));
        return 201;
      case 'import': {
        const raw = await formOf(`participant_code\n${unique('I')}\n`);
        return (await http.post(`/api/studies/${at.study.id}/participants/import/csv`, undefined, { raw })).status;
      }
      case 'other site':
        return (await http.patch(own, { site_code: one.who % 2 === 0 ? 'S1' : null })).status;
      case 'delete':
        return (await http.delete(own)).status;
      case 'withdraw':
      case 'reinstate':
      case 'erase':
        return (await http.post(`${own}/${one.kind}`, { reason: 'so it was' })).status;
    }
  }
  const moved = (by: number) => ({
    target_date: utcDay(by),
    window_open: utcDay(by - 1),
    window_close: utcDay(by + 1),
    reason: 'so it was',
  });

  it('are those of the visits, after any change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        await whileTheDayLasts();
        const at = await arranged();
        await agree(at, 'at first');
        const taken: string[] = [];
        for (const one of steps) {
          // Of 503, not now, nothing is to be compared: it is asked again.
          const status = await patiently(async () => ({ status: await take(at, one) }));
          taken.push(`${JSON.stringify(one)} ${status}`);
          expect(FINE, taken.join('\n')).to.include(status);
          await agree(at, taken.join('\n'));
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('are compared with the visits, and put right with a word in the log and a metric', async () => {
    api = await startApi({ VISIT_COUNTS_CHECK_SECONDS: '2' });
    const http = await admin(api.url);
    const at = await arranged();
    const { visits } = await countedBy(http, at.study.id);
    expect(visits.completed).to.be.greaterThan(0);
    // What goes past the service leaves no record: it is of all parts, and one of them is counted again meanwhile.
    await stage.sql(
      `update scheduled_visits set status = 'cancelled', completed_at = null where study_id = ? and status = 'completed'`,
      [at.study.id],
    );
    await until(
      async () => {
        const path = `/api/participants/${at.people[0]!.id}`;
        await stage.admin.expect(200, 'PATCH', path, { participant_code: unique('C') });
        return (await countedBy(http, at.study.id)).visits.completed === 0;
      },
      { what: 'the visits to be counted' },
    );
    await until(
      async () =>
        /^visit_tally_differences_total [1-9]/m.test((await http.send('GET', '/api/metrics/prometheus')).text),
      { what: 'the metric' },
    );
    await until(() => api!.output().includes('kept counts of visits differed'), { what: 'the log' });
  });
});
