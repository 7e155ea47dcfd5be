import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { byHand, dayIn } from '../notifications/stage.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import { clearOfMidnight } from '../support/midnight.js';
import { enterPortal } from '../support/portal.js';
import { runSchedule } from './stage.js';

/** A day later than in the zone of the studies when their visits are made. */
const [WEST, EAST] = ['Pacific/Pago_Pago', 'Pacific/Kiritimati'];

describe('The status of a visit is that of the present date', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());
  beforeEach(() => clearOfMidnight(WEST, EAST, 'UTC'));

  const enrolled = async (timezone: string, date: string, days: readonly number[]) => {
    const study = await stage.study(byHand, { days, fields: { timezone } });
    const person = await study.person();
    expect((await person.set(date)).status).to.equal(200);
    return { study, person };
  };
  const statuses = async (person: Person) =>
    Object.fromEntries((await person.standing()).map(({ name, status }) => [name, status]));
  const stored = async (person: Person) =>
    Object.fromEntries(
      (
        await stage.sql<{ name: string; status: string }>(
          `select name, status from scheduled_visits where participant_id = ? and status <> 'superseded'`,
          [person.id],
        )
      ).map(({ name, status }) => [name, status]),
    );
  const inPortal = async (person: Person) => {
    const portal = await enterPortal(stage.admin, person.id);
    const { items } = await portal.expect<{ items: { name: string; status: string }[] }>(
      200,
      'GET',
      '/api/portal/visits',
    );
    return Object.fromEntries(items.map(({ name, status }) => [name, status]));
  };

  it('from the making of a schedule version on, for staff and participant, and again after each move of the anchor', async () => {
    const { person } = await enrolled('UTC', dayIn('UTC'), [0, 30]);
    const first = { 'Day 0': 'open', 'Day 30': 'scheduled' };
    expect(await statuses(person)).to.deep.equal(first);
    expect(await inPortal(person)).to.deep.equal(first);
    expect(await stored(person)).to.deep.equal(first);
    const { visits } = await stage.admin.expect<{ visits: { name: string; status: string }[] }>(
      200,
      'GET',
      `${person.path}/schedule`,
    );
    expect(Object.fromEntries(visits.map(({ name, status }) => [name, status]))).to.deep.equal(first);
    expect((await person.override(dayIn('UTC', -29))).status).to.equal(200);
    const second = { 'Day 0': 'missed', 'Day 30': 'open' };
    expect(await statuses(person)).to.deep.equal(second);
    expect(await inPortal(person)).to.deep.equal(second);
  });

  it('in the zone of the site', async () => {
    const { study, person } = await enrolled(WEST, dayIn(WEST, 4), [0]);
    expect(await statuses(person)).to.deep.equal({ 'Day 0': 'scheduled' });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'EAST',
      timezone: EAST,
    });
    const other = await study.person({ site_id: site.id });
    expect((await other.set(dayIn(WEST, 4))).status).to.equal(200);
    expect(await statuses(other)).to.deep.equal({ 'Day 0': 'open' });
  });

  it('in list, report and portal alike before the hourly job has come; a filter finds it', async () => {
    const { study, person } = await enrolled(WEST, dayIn(WEST, 4), [0, 30, -7]);
    expect(await statuses(person)).to.deep.equal({ 'Day 0': 'scheduled', 'Day 30': 'scheduled', 'Day -7': 'open' });
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone: EAST });
    const now = { 'Day 0': 'open', 'Day 30': 'scheduled', 'Day -7': 'missed' };
    expect(await statuses(person)).to.deep.equal(now);
    expect(await inPortal(person)).to.deep.equal(now);
    const summary = await stage.admin.expect<{ visits: Record<string, number> }>(
      200,
      'GET',
      `/api/reports/studies/${study.id}/summary`,
    );
    for (const status of ['scheduled', 'open', 'missed']) {
      const { items, total } = await stage.admin.expect<{ items: { name: string; status: string }[]; total: number }>(
        200,
        'GET',
        `/api/schedules/visits?study_id=${study.id}&status=${status}`,
      );
      expect(items.map((visit) => visit.status)).to.deep.equal([status]);
      expect(summary.visits[status], status).to.equal(total);
    }
  });

  it('after a zone was corrected while a run of the job wrote by the wrong one', async () => {
    const { study, person } = await enrolled(WEST, dayIn(WEST, 4), [0]);
    const zoneOf = (timezone: string) => stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone });
    await zoneOf(EAST);
    expect(await stored(person), 'the job has yet to open it').to.deep.equal({ 'Day 0': 'scheduled' });
    const owner = openDatabase({ url: stage.run.database_url, poolMax: 3, name: 'present-status', asOwner: true });
    let jobWaits = false;
    try {
      await whileHeld<unknown>(
        owner,
        atItsCommit(study.id),
        () => runSchedule('update_visit_statuses', () => Promise.resolve(jobWaits), 'the job to have written'),
        () => {
          jobWaits = true;
          return zoneOf(WEST);
        },
      );
    } finally {
      await owner.destroy();
    }
    expect(await stored(person)).to.deep.equal({ 'Day 0': 'scheduled' });
  });

  it('a corrected zone never waits in a circle with a run of the job that has yet to cancel its reminders', async () => {
    const fields = { timezone: 'UTC', config: { notifications: { channels: ['email'], days_before: [1] } } };
    /** Whose visit was missed, which the job has yet to say, and what it has to cancel. */
    const missed = async () => {
      const study = await stage.study(byHand, { days: [], fields });
      const person = await study.person({ email: 'somebody@example.org' });
      const day = dayIn('UTC', -1);
      await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        name: 'Visit 1',
        target_date: day,
        window_open: day,
        window_close: day,
      });
      const [visit] = await stage.sql<{ id: string; visit_key: string }>(
        `update scheduled_visits set status = 'open' where participant_id = ? returning id, visit_key`,
        [person.id],
      );
      const [message] = await stage.sql<{ id: string }>('select id from notifications where visit_id = ?', [visit!.id]);
      return { study, key: visit!.visit_key, message: message!.id };
    };
    // The job goes through reminders in the order of their visits' keys: the first one is held.
    const [held, next] = [await missed(), await missed()].sort((a, b) => (a.key < b.key ? -1 : 1)) as [
      Awaited<ReturnType<typeof missed>>,
      Awaited<ReturnType<typeof missed>>,
    ];
    const owner = openDatabase({ url: stage.run.database_url, poolMax: 3, name: 'present-status', asOwner: true });
    const circles = async () =>
      Number(
        (
          await owner.raw<{ rows: { deadlocks: number }[] }>(
            'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
          )
        ).rows[0]!.deadlocks,
      );
    const nobodyWaits = async () =>
      (await stage.sql('select 1 from scheduled_visits where visit_key = ? and status = ?', [next.key, 'missed']))
        .length === 1;
    try {
      const before = await circles();
      await whileHeld<unknown>(
        owner,
        ['select 1 from notifications where id = ? for update', held.message],
        () => runSchedule('update_visit_statuses', nobodyWaits, 'the job to have moved the visit'),
        () => stage.admin.expect(200, 'PATCH', `/api/studies/${next.study.id}`, { timezone: 'Asia/Tokyo' }),
      );
      expect((await circles()) - before, 'circles').to.equal(0);
    } finally {
      await owner.destroy();
    }
  });
});
