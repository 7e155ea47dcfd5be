import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { Desk, dayIn } from '../notifications/stage.js';
import { whileHeld } from '../support/held-row.js';
import { until } from '../support/until.js';
import { imported } from './stage.js';

/** More rows than an import reads at a time. They fail, which costs the least. */
const BETWEEN = ',,,zz\n'.repeat(1_100);

describe('An import that changes participants in the order of its file', function () {
  this.timeout(180_000);
  let desk: Desk, owner: Database;
  before(async () => {
    desk = await Desk.open();
    owner = openDatabase({ url: desk.stage.run.database_url, poolMax: 3, name: 'import-order', asOwner: true });
  });
  after(async () => {
    await owner.destroy();
    await desk.close();
  });
  const circles = async () =>
    Number(
      (
        await owner.raw(
          'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
        )
      ).rows[0].deadlocks,
    );

  it('never waits in a circle with a study’s change, which has an order of its own', async () => {
    const { admin } = desk.stage;
    const study = await desk.study({ channels: ['email'], days_before: [1] });
    const window = await study.window(30);
    const people = await Promise.all(
      ['P-1', 'P-2'].map((participant_code) => desk.person(study, { participant_code })),
    );
    const [today, moved] = [dayIn('UTC'), dayIn('UTC', 40)];
    for (const person of people) expect((await person.set(today)).status).to.equal(200);
    await study.settled();
    // A change writes the reminders of many participants in the order of their visits' keys.
    const keys = await Promise.all(people.map(async (person) => (await person.visits())[0]!.visit_key));
    const [first, last] = keys[0]! < keys[1]! ? ['P-1', 'P-2'] : ['P-2', 'P-1'];
    const file = `participant_code,timezone,site_code,preferred_language\n${last},Asia/Tokyo,,\n${BETWEEN}${first},Asia/Tokyo,NEW,\n`;
    const before = await circles();
    const [answer] = await whileHeld<unknown>(
      owner,
      [`insert into sites (study_id, site_code) values (?, 'NEW')`, study.id],
      () => imported(admin, study.id, file, '?mode=upsert&create_missing_sites=true'),
      () => admin.expect(200, 'PATCH', `/api/schedules/windows/${window.id}`, { target_day: 40 }),
    );
    expect(answer).to.include({ updated_count: 2, imported_count: 0 });
    await study.settled();
    for (const person of people)
      await until(async () => (await person.standing())[0]?.target_date === moved, {
        what: 'the visit of the changed window',
      });
    expect((await circles()) - before, 'circles').to.equal(0);
  });

  for (const of of ['study', 'site'] as const)
    it(`never waits in a circle with a corrected zone of its ${of}`, async () => {
      const { admin } = desk.stage;
      const study = await desk.study({ channels: ['email'], days_before: [1] });
      const site = await admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'OLD' });
      const people = await Promise.all(
        ['P-1', 'P-2'].map((participant_code) => desk.person(study, { participant_code, site_id: site.id })),
      );
      const visits = await Promise.all(people.map((person) => desk.visit(person, dayIn('UTC', 9))));
      const [first, last] =
        String(visits[0]!.visit_key) < String(visits[1]!.visit_key) ? ['P-1', 'P-2'] : ['P-2', 'P-1'];
      const file = `participant_code,email,site_code,preferred_language\n${last},l@example.org,,\n${BETWEEN}${first},f@example.org,NEW,\n`;
      const before = await circles();
      const [answer] = await whileHeld<unknown>(
        owner,
        [`insert into sites (study_id, site_code) values (?, 'NEW')`, study.id],
        () => imported(admin, study.id, file, '?mode=upsert&create_missing_sites=true'),
        () =>
          admin.expect(200, 'PATCH', of === 'study' ? `/api/studies/${study.id}` : `/api/sites/${site.id}`, {
            timezone: 'Asia/Tokyo',
          }),
      );
      expect(answer).to.include({ updated_count: 2, imported_count: 0 });
      expect((await circles()) - before, 'circles').to.equal(0);
    });
});
