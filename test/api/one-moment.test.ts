import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { Visitor, hiddenIn, tokenIn } from '../console/stage.js';
import { FINAL_AT_ONCE } from '../events/stage.js';
import { user } from '../support/http.js';
import { until } from '../support/until.js';

/** What is put together from several statements: a commit between two of them must not make it untrue. */
describe('An answer is of one moment', function () {
  this.timeout(120_000);
  let stage: Stage, study: AnchorStudy, owner: Database, person: Person;
  before(async () => {
    stage = await Stage.open();
    owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'one-moment', asOwner: true });
    study = await stage.study(FINAL_AT_ONCE, { days: [0, 30] });
    person = await study.person();
    expect((await person.set(DAY)).status).to.equal(200);
    await person.settled();
  });
  after(async () => {
    await owner?.destroy();
    await stage.close();
  });

  /** Asks while a table is held, changes the data meanwhile, and gives the answer. */
  async function askedWhile<T>(
    table: string,
    ask: () => Promise<T>,
    change: readonly string[],
    of = study.id,
  ): Promise<T> {
    const lock = await owner.transaction();
    let asked: Promise<T>;
    try {
      await lock.raw(`lock table ${table} in access exclusive mode`);
      asked = ask();
      const blocked = `select 1 from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`;
      await until(async () => ((await lock.raw(blocked)).rows as unknown[]).length > 0, { what: 'the answer to wait' });
      await lock.raw('set local session_replication_role = replica');
      for (const statement of change) await lock.raw(statement, [of]);
    } finally {
      await lock.commit();
    }
    return asked;
  }

  it('what a policy would change: plan and schedules are both the earlier or both the later ones', async () => {
    const path = `/api/studies/${study.id}/config/enrollment-policy`;
    const policy = await stage.admin.expect<Record<string, unknown>>(200, 'GET', path);
    const trial = () =>
      stage.admin.expect<{ total: number; schedules_regenerated: number }>(200, 'POST', `${path}?dry_run=true`, policy);
    expect(await trial()).to.include({ total: 1, schedules_regenerated: 0 });
    const answer = await askedWhile('scheduled_visits', trial, [
      'update visit_windows set target_day = target_day + 1 where study_id = ?',
      `update scheduled_visits set target_date = target_date + 1, window_open = window_open + 1, window_close = window_close + 1 where study_id = ?`,
    ]);
    expect(answer).to.include({ total: 1, schedules_regenerated: 0 });
  });

  it('what an event definition would move, on its page in the console', async () => {
    const other = await stage.study(FINAL_AT_ONCE, {
      days: [],
      fields: { config: { scheduling_mode: 'edc', enrollment_date_policy: FINAL_AT_ONCE } },
    });
    const events: { id: string; target_day: number }[] = [];
    for (const [event_oid, target_day] of [
      ['SE_A', 10],
      ['SE_B', 30],
    ] as const)
      events.push(
        await stage.admin.expect(201, 'POST', `/api/studies/${other.id}/event-definitions`, {
          event_oid,
          name: event_oid,
          target_day,
        }),
      );
    await other.settled();
    const planned = await other.person();
    expect((await planned.set(DAY)).status).to.equal(200);
    await planned.settled();
    const { email } = await user(stage.admin, 'researcher', { study_ids: [other.id] });
    const visitor = await Visitor.of(stage.run.api, email);
    const path = `/console/studies/${other.id}/events/${events[0]!.id}`;
    const { text } = await visitor.get(path);
    const asShown = { event_oid: 'SE_A', name: 'SE_A', target_day: '10', window_before: '0', window_after: '7' };
    const trial = async () =>
      (
        await visitor.send('POST', path, {
          _token: tokenIn(text),
          _back: path,
          version: hiddenIn(text, 'version'),
          ...asShown,
          sort_order: '0',
          do: 'try',
        })
      ).text;
    expect(await trial()).to.include('0 of 1 would get another schedule.');
    const answer = await askedWhile(
      'scheduled_visits',
      trial,
      [
        `update event_definitions set target_day = target_day + 1 where study_id = ? and event_oid = 'SE_B'`,
        `update scheduled_visits set target_date = target_date + 1, window_open = window_open + 1, window_close = window_close + 1 where study_id = ? and name = 'SE_B'`,
      ],
      other.id,
    );
    expect(answer).to.include('0 of 1 would get another schedule.');
  });

  it('everything that is kept of a participant', async () => {
    const ask = () =>
      stage.admin.expect<{ anchor_date: { version: number }[]; visits: { name: string }[] }>(
        200,
        'GET',
        `/api/participants/${person.id}/data-export`,
      );
    const [{ version }] = (await ask()).anchor_date as [{ version: number }];
    const answer = await askedWhile('scheduled_visits', ask, [
      'update anchor_dates set version = version + 1 where study_id = ?',
      `update scheduled_visits set name = 'of the next version' where study_id = ?`,
    ]);
    const told = [answer.anchor_date[0]!.version === version + 1, answer.visits[0]!.name === 'of the next version'];
    expect(told[0]).to.equal(told[1]);
  });
});
