import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { WorkflowClaimer } from '../../activities/outbox/claimer.js';
import { LEASE_SECONDS } from '../../db/outbox/claims.queries.js';
import type { OutboxRow } from '../../db/outbox/claims.queries.js';
import { RelayQueue } from '../../activities/outbox/queue.js';
import { LoadMonitor } from '../../activities/util/load-monitor.js';
import { StartedWork } from '../../activities/util/started-work.js';
import { openDatabase } from '../../db/client/knex.js';
import { migrate } from '../../db/migrate.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import type { Database } from '../../db/client/database.js';

describe('Relays that take messages out of one outbox', function () {
  this.timeout(180_000);
  const name = `relay_${Date.now()}`;
  let owner: pg.Client, database: Database;
  before(async () => {
    const url = new URL((await service()).database_url);
    owner = new pg.Client({ connectionString: url.toString() });
    await owner.connect();
    // The service's own relay takes what is in its outbox.
    await owner.query(`create database ${name}`);
    url.pathname = `/${name}`;
    await migrate(url.toString());
    database = openDatabase({ url: url.toString(), name: 'relay-tests', poolMax: 6, asOwner: true });
  });
  after(async () => {
    await database?.destroy();
    await owner.query(`drop database if exists ${name} with (force)`);
    await owner.end();
  });

  const lane = (deliver: (message: OutboxRow) => Promise<void>) =>
    new RelayQueue(
      { database, deliver, log: pino({ level: 'silent' }) },
      new WorkflowClaimer(database, new LoadMonitor()),
    );
  const left = async () => Number((await database('outbox').count({ n: '*' }).first())!.n);
  const put = (subjects: readonly string[]) =>
    database('outbox').insert(subjects.map((subject) => ({ topic: 'export', subject })));

  it('leave to one of them what takes it longer than a lease', async () => {
    await put(['slow']);
    const delivered: string[] = [];
    const one = (by: string) =>
      lane(async ({ subject }) => {
        delivered.push(`${by} ${subject}`);
        await sleep(LEASE_SECONDS * 1_400);
      });
    const lanes = [one('first'), one('second')];
    for (const each of lanes) each.start();
    await until(async () => (await left()) === 0, { what: 'the message to be delivered' });
    await Promise.all(lanes.map((each) => each.stop()));
    expect(delivered).to.have.length(1);
  });

  it('give back what they have not begun when they stop, and take up what another one leaves', async () => {
    const subjects = Array.from({ length: 30 }, (_, i) => `s-${i}`);
    await put(subjects);
    let end = () => undefined as void;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const begun: string[] = [],
      rest: string[] = [];
    const stops = lane(async ({ subject }) => {
      begun.push(subject);
      await ended;
    });
    stops.start();
    await until(() => begun.length > 0);
    await sleep(500);
    const stopped = stops.stop();
    const other = lane(async ({ subject }) => {
      rest.push(subject);
    });
    other.start();
    await until(() => rest.length === subjects.length - begun.length, {
      timeout: LEASE_SECONDS * 900,
      what: 'what was given back, before a lease is over',
    });
    end();
    await stopped;
    await other.stop();
    expect([...begun, ...rest].sort(), 'each once').to.deep.equal([...subjects].sort());
    expect(await left()).to.equal(0);
  });

  it('take of one subject the oldest alone, and pass by what waits behind one that is not due', async () => {
    const claims = new WorkflowClaimer(database, new LoadMonitor());
    const taken = async () => (await claims.claim(50)).map(({ id, subject }) => ({ id: Number(id), subject }));
    await put(['held', 'held', 'a', 'a', 'b']);
    await database.raw(
      `update outbox set available_at = clock_timestamp() + interval '1 hour' where id = (select min(id) from outbox)`,
    );
    const first = await taken();
    expect(first.map(({ subject }) => subject)).to.deep.equal(['a', 'b']);
    expect(await taken(), 'a message that is leased still stands before the next of its subject').to.deep.equal([]);
    await database('outbox').where({ id: first[0]!.id }).delete();
    expect((await taken()).map(({ subject }) => subject)).to.deep.equal(['a']);
    await database('outbox').delete();
  });

  it('start no more participants’ workflows with low priority than a few that no worker has executed yet', async () => {
    const started = new StartedWork(600_000);
    const claims = new WorkflowClaimer(database, new LoadMonitor(), started);
    const taken: string[] = [];
    /** Claims until it has had its turn: low-priority messages have a pace. */
    const turns = async (count: number) => {
      for (let turn = 0; turn < count; turn += 1) {
        taken.push(...(await claims.claim(50)).map(({ subject }) => subject));
        await sleep(Math.max(claims.pause(), 250));
      }
    };
    await database('outbox').insert(
      Array.from({ length: 40 }, (_, i) => ({ topic: 'participant-start', subject: `p-${i}`, patient: true })),
    );
    await turns(4);
    expect(taken, 'those that nobody has executed').to.have.length(5);
    for (const subject of taken.slice(0, 2)) started.end(subject);
    await turns(4);
    expect(taken, 'as many more as were executed').to.have.length(7);
    for (const subject of taken) started.end(subject);
    await turns(1);
    expect(taken).to.have.length(12);
    expect(new Set(taken).size, 'each once').to.equal(12);
    await database('outbox').delete();
  });

  const MANY = 14_000;
  const fill = (subject: string) =>
    `insert into outbox (topic, subject) select 'export', '${subject}' || n from generate_series(1, ${MANY}) n`;
  for (const [how, counted] of Object.entries({
    'while it was empty': ['vacuum analyze outbox'],
    'when two were left at the end of a long table': [
      fill('gone-'),
      'delete from outbox where id < (select max(id) - 1 from outbox)',
      'vacuum analyze outbox',
      'delete from outbox',
      'analyze outbox',
    ],
    'with some in it': [
      `insert into outbox (topic, subject) select 'export', 'some-' || n from generate_series(1, 20) n`,
      'vacuum analyze outbox',
    ],
    'while it was long': [fill('long-'), 'vacuum analyze outbox'],
  })) {
    it(`find what is due without going through all of a long queue for each message, when it was counted ${how}`, async () => {
      // One connection: its counts of what it reads are told when it says so.
      const url = new URL((await service()).database_url);
      url.pathname = `/${name}`;
      const alone = openDatabase({ url: url.toString(), name: 'relay-tests', poolMax: 1, asOwner: true });
      try {
        for (const statement of counted) await alone.raw(statement);
        const claims = new WorkflowClaimer(alone, new LoadMonitor());
        await claims.claim(50);
        await alone.raw(fill('many-'));
        const read = async () => {
          await alone.raw('select pg_stat_force_next_flush()');
          const {
            rows: [row],
          } = await alone.raw(
            `select (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes where relname = 'outbox') + (select seq_tup_read from pg_stat_user_tables where relname = 'outbox') as n`,
          );
          return Number(row.n);
        };
        for (const look of ['a first', 'a second']) {
          const before = await read();
          expect(await claims.claim(50), `${look} look`).to.have.length(50);
          expect((await read()) - before, `${look} look`).to.be.within(50, 4 * MANY);
        }
      } finally {
        await alone('outbox').delete();
        await alone.destroy();
      }
    });
  }
});
