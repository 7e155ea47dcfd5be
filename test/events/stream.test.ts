import { expect } from 'chai';
import pg from 'pg';
import { AnchorStudy, DAY, Stage } from '../anchor/stage.js';
import { openDatabase } from '../../db/client/knex.js';
import { migrate } from '../../db/migrate.js';
import { Http, newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { FINAL_AT_ONCE, emitted, follow, setDate } from './stage.js';
import type { Followed } from './stage.js';

describe('The stream of a study’s events', function streamTests() {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [0] });
    await setDate(study);
  });
  after(() => stage.close());
  const has = (stream: Followed, count: number) =>
    until(() => stream.events.length >= count, { what: `${count} events, not ${stream.events.length}` });

  it('gives what there is, then what comes, as the list has it', async () => {
    const stream = await follow(stage.admin, study.id);
    try {
      expect(stream.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
      await has(stream, 1);
      await setDate(study);
      await has(stream, 2);
      expect(stream.events).to.deep.equal(await emitted(study));
      expect(stream.texts.at(-1)).to.equal(
        `id: ${stream.events[1]!.id}\nevent: ENROLLMENT_DATE_SET\ndata: ${JSON.stringify(stream.events[1])}`,
      );
    } finally {
      stream.stop();
    }
  });

  it('is woken by the events of an import', async () => {
    const source = await stage.study(FINAL_AT_ONCE, { days: [0] });
    const person = await source.person();
    expect((await person.set(DAY)).status).to.equal(200);
    // Nobody is enrolled any more: no workflow of the copy writes events of its own.
    await person.withdraw();
    const count = (await emitted(source)).length;
    const content = JSON.stringify(await stage.admin.expect(200, 'GET', `/api/exports/studies/${source.id}/full`));
    const copy = await newStudy(stage.admin);
    const listener = new pg.Client({ connectionString: stage.run.database_url });
    await listener.connect();
    try {
      let woken = 0;
      listener.on('notification', () => (woken += 1));
      await listener.query('listen events');
      await stage.admin.expect(201, 'POST', `/api/studies/import/full?study_id=${copy.id}`, undefined, {
        raw: { type: 'application/json', content },
      });
      await until(() => woken > 0, { what: 'the notification of the events' });
      const { total } = await stage.admin.expect<Loose>(200, 'GET', `/api/studies/${copy.id}/events?limit=1`);
      expect(total).to.equal(count);
    } finally {
      await listener.end();
    }
  });

  it('goes on after Last-Event-ID without a gap, and refuses an id that it does not know', async () => {
    const before = await emitted(study);
    const stream = await follow(stage.admin, study.id, { 'Last-Event-ID': before.at(-1)!.id });
    try {
      await setDate(study);
      await has(stream, 1);
      expect(stream.events.map(({ id }) => id)).to.deep.equal(
        (await emitted(study)).slice(before.length).map(({ id }) => id),
      );
    } finally {
      stream.stop();
    }
    for (const id of ['00000000-0000-4000-8000-000000000000', 'nonsense'])
      expect((await follow(stage.admin, study.id, { 'Last-Event-ID': id })).status, id).to.equal(422);
    const asked = await stage.admin.get(`/api/studies/${study.id}/events?last_event_id=nonsense`, {
      headers: { Accept: 'text/event-stream' },
    });
    expect([asked.status, asked.body.errors[0]!.path]).to.deep.equal([422, 'query.last_event_id']);
  });

  it('is for who prefers it: a list, which ends, for who weighs that more', async () => {
    const path = `/api/studies/${study.id}/events`;
    for (const accept of ['application/json, text/event-stream;q=0.5', 'text/event-stream;q=0, */*', '*/*']) {
      const { status, headers } = await stage.admin.get(path, { headers: { Accept: accept } });
      expect([status, headers.get('content-type')], accept).to.deep.equal([200, 'application/json; charset=utf-8']);
    }
    for (const accept of ['application/json;q=0.5, text/event-stream', 'text/event-stream, */*;q=0.1']) {
      const stream = await follow(stage.admin, study.id, { Accept: accept });
      expect(stream.headers.get('content-type'), accept).to.include('text/event-stream');
      stream.stop();
    }
  });

  it('is opened by a ticket where no bearer token can be sent: of its study, for a minute, and for nothing else', async () => {
    const coordinator = await study.as('coordinator');
    const path = `/api/studies/${study.id}/events`;
    const ticketOf = (by: Http) => by.expect<{ ticket: string; expires_in: number }>(201, 'POST', `${path}/ticket`);
    const { ticket, expires_in } = await ticketOf(coordinator);
    expect(expires_in).to.equal(60);
    const anybody = new Http(stage.run.api);
    const known = await emitted(study);
    const stream = await follow(anybody, study.id, {}, `?ticket=${ticket}&last_event_id=${known[0]!.id}`);
    try {
      expect(stream.status).to.equal(200);
      await setDate(study);
      await has(stream, known.length);
      expect(stream.events.map(({ id }) => id)).to.deep.equal((await emitted(study)).slice(1).map(({ id }) => id));
    } finally {
      stream.stop();
    }
    const other = await stage.study(FINAL_AT_ONCE, { days: [0] });
    expect((await follow(anybody, other.id, {}, `?ticket=${ticket}`)).status).to.equal(401);
    expect((await follow(anybody, study.id, {}, `?ticket=${coordinator.token!}`)).status).to.equal(401);
    expect((await anybody.get(`${path}?ticket=${ticket}`)).status).to.equal(401);
    expect((await new Http(stage.run.api, ticket).get(path)).status).to.equal(401);
    expect((await new Http(stage.run.api, ticket).get('/api/auth/me')).status).to.equal(401);
    // Who may no longer see the study has a ticket in vain.
    await stage.admin.expect(200, 'PATCH', `/api/users/${coordinator.userId!}`, { status: 'inactive' });
    expect((await follow(anybody, study.id, {}, `?ticket=${ticket}`)).status).to.equal(401);
  });

  it('misses no event whose transaction commits after a later one', async () => {
    const known = await emitted(study);
    const stream = await follow(stage.admin, study.id, { 'Last-Event-ID': known.at(-1)!.id });
    const database = openDatabase({ url: stage.run.database_url, name: 'stream-test', poolMax: 2, asOwner: true });
    const write = `insert into domain_events (type, study_id, data) values (?, ?, '{}')`;
    try {
      const first = await database.transaction();
      await first.raw(`select set_config('app.studies', '*', true)`);
      await first.raw(write, ['PARTICIPANT_WITHDRAWN', study.id]);
      await stage.sql(write, ['PARTICIPANT_REINSTATED', study.id]);
      expect((await emitted(study)).at(-1)!.type).to.equal('PARTICIPANT_REINSTATED');
      await first.commit();
      await has(stream, 2);
      expect(stream.events.map(({ type }) => type)).to.have.members([
        'PARTICIPANT_WITHDRAWN',
        'PARTICIPANT_REINSTATED',
      ]);
    } finally {
      stream.stop();
      await database.destroy();
    }
  });

  it('goes on in a database that was restored from a dump, on a server with other numbers of transactions', async () => {
    const restored = await stage.study(FINAL_AT_ONCE, { days: [0] });
    await setDate(restored);
    await setDate(restored);
    const [first] = await emitted(restored);
    const database = openDatabase({ url: stage.run.database_url, name: 'stream-test', poolMax: 2, asOwner: true });
    try {
      await database.transaction(async (tx) => {
        await tx.raw(`select set_config('app.studies', '*', true), set_config('app.erasing', 'on', true)`);
        await tx.raw(
          'update domain_events set tx = (tx::text::numeric + 1000000000)::text::xid8 where study_id = ?',
          restored.id,
        );
      });
    } finally {
      await database.destroy();
    }
    // As the deployment after a restore does.
    await migrate(stage.run.database_url);
    const stream = await follow(stage.admin, restored.id, { 'Last-Event-ID': first!.id });
    try {
      await has(stream, 1);
      await setDate(restored);
      await has(stream, 2);
      expect(stream.events.map(({ id }) => id)).to.deep.equal((await emitted(restored)).slice(1).map(({ id }) => id));
    } finally {
      stream.stop();
    }
  });

  it('is narrowed by type', async () => {
    const stream = await follow(stage.admin, study.id, {}, '?type=PARTICIPANT_REINSTATED');
    await has(stream, 1);
    stream.stop();
    expect(stream.events.map(({ type }) => type)).to.deep.equal(['PARTICIPANT_REINSTATED']);
  });

  it('ends when the caller may no longer see the study', async () => {
    const someone = await study.as('data_manager', 'to be deactivated');
    const stream = await follow(someone, study.id);
    await has(stream, 1);
    await stage.admin.expect(200, 'PATCH', `/api/users/${someone.userId!}`, { status: 'inactive' });
    await until(() => stream.ended, { what: 'the stream to end' });
    expect(stream.texts.at(-1)).to.include('event: end').and.include('INVALID_TOKEN');
  });

  it('is refused to who may not see the study', async () => {
    const stranger = await (await stage.study({}, { days: [] })).as('researcher');
    expect((await follow(stranger, study.id)).status).to.equal(404);
  });
});
