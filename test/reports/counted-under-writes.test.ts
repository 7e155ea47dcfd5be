import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { admin, newStudy } from '../support/http.js';
import type { Http } from '../support/http.js';
import { service } from '../support/service.js';
import { ZONES, whileTheDayLasts } from './world.js';

const WRITERS = 4,
  CHANGES = 25,
  LOOKS = 12;
/** Visits that a change makes, moves or ends, together. */
const TOGETHER = 10;

interface Summary {
  visits: Record<string, number>;
  adherence: { due: number; completed_in_window: number };
}
interface Completion {
  by_window: { due: number; completed: number; in_window: number; late: number; missed: number }[];
}

/** What the rows say, one by one and by hand: each visit's status and adherence on its participant's own calendar. */
const SAID = `
  select v.id, v.target_date, v.window_open, v.window_close, (v.completed_at at time zone z.zone)::date as done,
    case when v.status in ('scheduled', 'open') and v.window_close < z.today then 'missed'
      when v.status = 'scheduled' and v.window_open <= z.today and p.status = 'enrolled' then 'open' else v.status end as said
  from scheduled_visits v join participants p on p.id = v.participant_id join studies y on y.id = v.study_id left join sites s on s.id = p.site_id
  cross join lateral (select coalesce(s.timezone, y.timezone) as zone, (now() at time zone coalesce(s.timezone, y.timezone))::date as today) z
  where v.study_id = $1`;
const ROWS = `select id from (${SAID}) v`;
const PLAIN = `
select count(*)::integer as total, count(*) filter (where said = 'completed')::integer as completed, count(*) filter (where said = 'missed')::integer as missed,
  count(*) filter (where said = 'open')::integer as open, count(*) filter (where said = 'scheduled')::integer as scheduled,
  count(*) filter (where said = 'superseded')::integer as superseded, count(*) filter (where said = 'cancelled')::integer as cancelled,
  count(*) filter (where said = 'completed' and done between window_open and window_close)::integer as in_window,
  count(*) filter (where said = 'completed' and done > window_close)::integer as late
from (${SAID}) v`;
const STATUSES = ['scheduled', 'open', 'missed', 'completed', 'cancelled', 'superseded'];

/** Visits around today, at every hour, so that many stand at the edge of a day where their participants live. */
const MAKE = `
insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, name, target_date, window_open, window_close, status, completed_at)
select gen_random_uuid(), $1, $2, $3, 'A visit', d, d - 1, d + 1, s, case when s = 'completed' then (d + floor(random() * 5)::integer - 2)::timestamp at time zone 'UTC' + random() * interval '1 day' end
from (select current_date + floor(random() * 9)::integer - 4 as d, (array['scheduled', 'open', 'completed', 'missed', 'cancelled'])[1 + floor(random() * 5)::integer] as s from generate_series(1, $4::integer)) x`;

/**
 * What each change is: many visits of one participant together, as a decision, a closing window and a new schedule are.
 */
const CHANGE = [
  MAKE,
  `update scheduled_visits set status = 'superseded', completed_at = null where id in (select id from scheduled_visits where study_id = $1 and participant_id = $2 and status in ('scheduled', 'open') limit $3::integer)`,
  `update scheduled_visits set status = 'completed', completed_at = now() - random() * interval '2 days' where id in (select id from scheduled_visits where study_id = $1 and participant_id = $2 and status in ('scheduled', 'open', 'missed') limit $3::integer)`,
  `update scheduled_visits set window_close = window_close + 1, window_open = window_open - 1 where id in (select id from scheduled_visits where study_id = $1 and participant_id = $2 limit $3::integer)`,
];

const change = (
  client: pg.Client,
  i: number,
  { study, participant, window }: { study: string; participant: string; window: string },
) => {
  const sql = CHANGE[i % CHANGE.length]!;
  return client.query(sql, sql === MAKE ? [study, participant, window, TOGETHER] : [study, participant, TOGETHER]);
};

describe('What a study’s visits are counted as, while they change', function () {
  this.timeout(120_000);
  let http: Http;
  const clients: pg.Client[] = [];
  const connected = async () => {
    const client = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await client.connect();
    await client.query(`select set_config('app.studies', '*', false)`);
    clients.push(client);
    return client;
  };
  before(async () => {
    http = await admin();
  });
  after(() => Promise.all(clients.map((client) => client.end())));

  it('is of whole changes, and in the end what each row says by itself', async () => {
    await whileTheDayLasts();
    const study = await newStudy(http, { timezone: ZONES.study, consent_mode: 'external' });
    const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'S1',
      timezone: ZONES.site,
    });
    const window = await http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: study.id,
      code: 'W0',
      name: 'W0',
      target_day: 0,
      sort_order: 0,
    });
    const people = Array.from({ length: WRITERS }, () => randomUUID());
    const owner = await connected();
    for (const [at, id] of people.entries())
      await owner.query(
        `insert into participants (id, study_id, participant_code, site_id, status, withdrawn_at) values ($1, $2, $6, $3, $4, $5)`,
        [
          id,
          study.id,
          at % 2 === 0 ? site.id : null,
          at === 0 ? 'withdrawn' : 'enrolled',
          at === 0 ? new Date() : null,
          `P-${at}`,
        ],
      );
    let writing = true;
    const writers = Promise.all(
      people.map(async (id) => {
        const client = await connected();
        for (let i = 0; i < CHANGES; i += 1)
          await change(client, i, { study: study.id, participant: id, window: window.id });
      }),
    ).finally(() => {
      writing = false;
    });
    // Visits come ten at a time: a count of a part of them would be seen.
    for (let look = 0; look < LOOKS || writing; look += 1) {
      const { visits } = await summary(http, study.id, look);
      const parts = Object.entries(visits).filter(([word]) => word !== 'total');
      expect(visits.total! % TOGETHER).to.equal(0);
      expect(parts.reduce((sum, [, n]) => sum + n, 0)).to.equal(visits.total);
    }
    await writers;

    const { rows } = await owner.query<Record<string, number>>(PLAIN, [study.id]);
    const { in_window, late, ...plain } = rows[0]!;
    const { visits, adherence } = await summary(http, study.id, -1);
    expect(visits).to.deep.equal(plain);
    expect(adherence).to.deep.include({
      due: plain.completed! + plain.missed!,
      completed_in_window: in_window,
    });
    const { by_window } = await http.expect<Completion>(
      200,
      'GET',
      `/api/reports/studies/${study.id}/completion?to=2999-01-01`,
    );
    expect(by_window).to.have.length(1);
    expect(by_window[0]).to.deep.include({
      due: plain.completed! + plain.missed!,
      completed: plain.completed,
      in_window,
      late,
      missed: plain.missed,
    });
    const listed = await http.expect(200, 'GET', `/api/schedules/visits?study_id=${study.id}&limit=1`);
    expect(listed.total).to.equal(plain.total);
    for (const [status, sort] of STATUSES.flatMap((one) => [
      [one, 'target_date'] as const,
      [one, '-target_date'] as const,
    ])) {
      const { rows: wanted } = await owner.query<{ id: string }>(
        `${ROWS} where said = $2 order by target_date ${sort === 'target_date' ? ', id' : 'desc, id desc'}`,
        [study.id, status],
      );
      const found = await pagesOf(http, `/api/schedules/visits?study_id=${study.id}&status=${status}&sort=${sort}`);
      expect(found.ids, `${status} ${sort}`).to.deep.equal(wanted.map(({ id }) => id));
      expect(found.totals, `${status} ${sort}`).to.deep.equal([wanted.length]);
    }
  });
});

/** Computed again: no filter twice the same, since what is written here by SQL leaves no record by which it is told. */
const summary = (http: Http, study: string, look: number): Promise<Summary> =>
  http.expect<Summary>(200, 'GET', `/api/reports/studies/${study}/summary?from=${1900 + look + 1}-01-01`);

const PAGE = 37;
/** Every page of a list, one after the other: the ids, and what was said of how many there are. */
async function pagesOf(http: Http, path: string): Promise<{ ids: string[]; totals: number[] }> {
  const ids: string[] = [],
    totals = new Set<number>();
  for (;;) {
    const page = await http.expect<{ items: { id: string }[]; total: number }>(
      200,
      'GET',
      `${path}&limit=${PAGE}&skip=${ids.length}`,
    );
    ids.push(...page.items.map(({ id }) => id));
    totals.add(page.total);
    if (page.items.length < PAGE) return { ids, totals: [...totals] };
  }
}
