import { expect } from 'chai';
import { createReminderActivities } from '../../activities/notifications/reminders/reminders.activities.js';
import { openDatabase } from '../../db/client/knex.js';
import { Desk } from './stage.js';
import type { Database } from '../../db/client/database.js';

interface Connection {
  query: (...given: unknown[]) => Promise<unknown>;
}

/** Everything that a pool of one connection sends to the database, as text. */
async function listenTo(database: Database): Promise<string[]> {
  const sent: string[] = [];
  const connection = (await database.client.acquireConnection()) as Connection;
  const query = connection.query.bind(connection);
  connection.query = (...given) => {
    const [first] = given as [string | { text: string }];
    sent.push(typeof first === 'string' ? first : first.text);
    return query(...given);
  };
  await database.client.releaseConnection(connection);
  return sent;
}

describe('A run of the sweep with nothing to do', () => {
  let desk: Desk;
  let database: Database;
  before(async () => {
    desk = await Desk.open();
    database = openDatabase({ url: desk.stage.run.database_url, name: 'idle-sweep', poolMax: 1 });
  });
  after(async () => {
    await database?.destroy();
    await desk?.close();
  });

  it('is one query, which an index alone answers', () =>
    desk.alone(async () => {
      const { sweepReminders } = createReminderActivities({
        database,
        channels: { email: null, sms: null },
        messages: { publicUrl: 'https://study.example.org', secret: 'a secret of this test, long enough' },
        maxLatenessHours: 12,
        retrySeconds: 1,
        log: { warn: () => undefined },
        heartbeat: () => undefined,
      });
      // Many that wait for their time, none that is due: whatever other tests have left is theirs.
      const study = await desk.study({ days_before: Array.from({ length: 20 }, (_, i) => i) });
      for (let i = 0; i < 5; i += 1) await desk.visit(await desk.person(study), '2031-05-20');
      const due = `from notifications where status = 'pending' and visit_key is not null and attempt_at <= now()`;
      const aside = await desk.stage.sql<{ id: string }>(
        `update notifications set attempt_at = attempt_at + interval '100 years' where id in (select id ${due}) returning id`,
      );
      try {
        await sweepReminders();
        const sent = await listenTo(database);
        expect(await sweepReminders()).to.deep.equal({ sent: 0, failed: 0, cancelled: 0, suppressed: 0, put_off: 0 });
        // The transaction's frame and the one statement travel together.
        expect(sent, sent.join('\n')).to.have.length(4);
        expect(sent[0]).to.equal('begin transaction read only');
        expect(sent[1]).to.include('app.studies');
        expect(sent[2]).to.include('from notifications');
        expect(sent[3]).to.equal('commit');
      } finally {
        await desk.stage.sql(
          `update notifications set attempt_at = attempt_at - interval '100 years' where id = any(?)`,
          [aside.map(({ id }) => id)],
        );
      }
      await desk.stage.sql('vacuum analyze notifications');
      const plan = await database.transaction(async (tx) => {
        await tx.raw(`select set_config('app.studies', '*', true)`);
        const { rows } = await tx.raw(`explain (format text) select attempt_at ${due} limit 1`);
        return (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n');
      });
      expect(plan).to.include('Index Only Scan using notifications_sweep').and.not.include('Seq Scan');
    }));
});
