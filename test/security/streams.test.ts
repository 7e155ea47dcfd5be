import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { FINAL_AT_ONCE, emitted, follow, setDate } from '../events/stage.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';

describe('Event streams: a user has few, and a process reads once for all of them', () => {
  let stage: Stage, study: AnchorStudy, reader: Http;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [] });
    reader = await study.as('data_manager');
  });
  after(() => stage.close());

  it('five at a time; the next is 429 until one is closed; others have their own', async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(reader, study.id)));
    try {
      expect(streams.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
      const refused = await reader.get(`/api/studies/${study.id}/events`, { headers: { Accept: 'text/event-stream' } });
      expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).to.deep.equal([
        429,
        'RATE_LIMITED',
        '5',
      ]);
      expect((await reader.get(`/api/studies/${study.id}/events`)).status, 'the list').to.equal(200);
      streams.push(await follow(stage.admin, study.id));
      expect(streams.at(-1)!.status).to.equal(200);

      await setDate(study);
      const all = await emitted(study);
      for (const stream of streams)
        await until(() => stream.events.length === all.length, { what: 'the event in each stream' });
      streams.shift()!.stop();
      await until(
        async () => {
          const next = await follow(reader, study.id);
          streams.push(next);
          return next.status === 200;
        },
        { what: 'a place for one more' },
      );
    } finally {
      for (const stream of streams) stream.stop();
    }
  });

  const reads = async () => {
    const [row] = await stage.sql<{ reads: number }>(
      `select (seq_scan + coalesce(idx_scan, 0))::int as reads from pg_stat_user_tables where relname = 'domain_events'`,
    );
    return row!.reads;
  };
  const listeners = () =>
    stage.sql<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'events-listen' and query = 'listen events'`,
    );
  const tenStreams = async () => {
    const people = [reader, await study.as('data_manager', 'one more')];
    return (
      await Promise.all(people.map((by) => Promise.all(Array.from({ length: 5 }, () => follow(by, study.id)))))
    ).flat();
  };

  it('one connection listens for all of them; while nothing happens none of them asks the database', async () => {
    const streams = await tenStreams();
    try {
      await until(async () => (await listeners()).length === 1, { what: 'a connection that listens' });
      const known = (await emitted(study)).length;
      await until(() => streams.every(({ events }) => events.length === known), { what: 'what there is' });
      // Looks that follow an event, and the first at the rights, are over by then.
      await sleep(8_000);
      const before = await reads();
      await sleep(6_000);
      // Ten streams that looked for themselves would have read sixty times or more.
      expect((await reads()) - before).to.be.below(30);
      expect((await listeners()).length).to.equal(1);
      await setDate(study);
      await until(() => streams.every(({ events }) => events.length === known + 1), { what: 'the event in each' });
    } finally {
      for (const stream of streams) stream.stop();
    }
  });

  it('without that connection they look by themselves until there is another one', async () => {
    const stream = await follow(reader, study.id);
    try {
      const [lost] = await until(
        async () => {
          const found = await listeners();
          return found.length > 0 ? found : undefined;
        },
        { what: 'a connection that listens' },
      );
      await stage.sql('select pg_terminate_backend(?)', [lost!.pid]);
      await setDate(study);
      const all = await emitted(study);
      await until(() => stream.events.length === all.length, { what: 'the event without a listener' });
      await until(async () => (await listeners()).some(({ pid }) => pid !== lost!.pid), { what: 'another connection' });
    } finally {
      stream.stop();
    }
  });

  it('a stream ends with the login that opened it', async () => {
    const someone = await study.as('data_manager', 'who logs out everywhere');
    const stream = await follow(someone, study.id);
    await until(() => stream.events.length > 0, { what: 'what there is' });
    expect((await someone.post('/api/auth/logout-all')).status).to.be.oneOf([200, 204]);
    await until(() => stream.ended, { what: 'the stream to end' });
    expect(stream.texts.at(-1)).to.include('event: end').and.include('INVALID_TOKEN');
  });
});
