import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Knex } from 'knex';
import pg from 'pg';
import { openDatabase } from '../../db/client/knex.js';
import { migrations } from '../../db/migrations/index.js';
import { migrate } from '../../db/migrate.js';
import { placesOf } from '../support/places-of.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

/** The last revision whose erasures left what staff had written about the person. */
const REVISION = '0098-repeated-hour';
const [SECRET, OWN] = ['Veramaria', 'Ottokar'];

describe('A database whose people were erased by a former release', function () {
  this.timeout(120_000);
  const name = `erased_${process.pid}`;
  let server: pg.Client, url: string, owner: Database, reader: pg.Client;
  before(async () => {
    const at = new URL((await service()).database_url);
    server = new pg.Client({ connectionString: at.toString() });
    await server.connect();
    await server.query(`create database ${name}`);
    at.pathname = `/${name}`;
    url = at.toString();
    owner = openDatabase({ url, name: 'former-erasures', asOwner: true, poolMax: 1 });
    reader = new pg.Client({ connectionString: url });
    await reader.connect();
  });
  after(async () => {
    await Promise.all([owner?.destroy(), reader?.end()]);
    await server.query(`drop database if exists ${name} with (force)`);
    await server.end();
  });

  async function atRevision(): Promise<void> {
    const until = migrations.findIndex((each) => each.name === REVISION) + 1;
    const migrationSource: Knex.MigrationSource<(typeof migrations)[number]> = {
      getMigrations: async () => migrations.slice(0, until),
      getMigrationName: (each) => each.name,
      getMigration: async ({ up }) => ({
        up: async (knex) => {
          await knex.raw(up);
        },
        down: async () => {
          throw new Error('migrations only go forward');
        },
      }),
    };
    await owner.migrate.latest({ migrationSource });
  }

  /** A participant about whom staff have written a word in each place. */
  async function person(tx: Knex.Transaction, study: string, word: string): Promise<string> {
    const [id, anchor, version] = [randomUUID(), randomUUID(), randomUUID()];
    const history = randomUUID();
    const about = { study_id: study, participant_id: id };
    await tx('participants').insert({
      id,
      study_id: study,
      participant_code: `P-${id.slice(0, 8)}`,
      status: 'withdrawn',
      withdrawn_at: '2024-05-01T09:00:00Z',
      withdrawal_reason: 'moved',
    });
    await tx('anchor_dates').insert({ ...about, id: anchor });
    const items = { weight_kg: 71, household: [{ first_name: word, age: 9 }] };
    await tx('form_instances').insert({ ...about, form_oid: 'enroll', status: 'complete', items });
    await tx('anchor_date_history').insert({
      ...about,
      id: history,
      anchor_date_id: anchor,
      event_type: 'SET',
      anchor_version: 2,
      precision: 'date',
      status_before: 'unset',
      status_after: 'finalized',
      source_type: 'manual_entry',
      actor_type: 'user',
      reason: `as ${word} said`,
    });
    await tx('anchor_decisions').insert({
      ...about,
      history_id: history,
      policy_version: 1,
      facts: { forms: [{ form_oid: 'enroll', items }] },
      command: '{}',
      trace: '{}',
      decision: '{}',
    });
    await tx('schedule_versions').insert({
      ...about,
      id: version,
      version_number: 1,
      anchor_date_used: '2024-03-10',
      anchor_version: 2,
      anchor_date_id: anchor,
    });
    const visit = { ...about, target_date: '2024-04-09', window_open: '2024-04-09', window_close: '2024-04-16' };
    await tx('scheduled_visits').insert([
      { ...visit, visit_key: randomUUID(), name: `with ${word}`, status: 'missed' },
      {
        ...visit,
        visit_key: randomUUID(),
        schedule_version_id: version,
        name: `${word} at home`,
        changed_from: { name: 'Month 1' },
        status: 'missed',
      },
    ]);
    await tx('domain_events').insert({
      ...about,
      type: 'PARTICIPANT_WITHDRAWN',
      data: { reason: `${word} is ill`, actor: { type: 'user' } },
    });
    return id;
  }

  it('has nothing of them that an erasure of today removes, and all that it keeps, and others whole', async () => {
    await atRevision();
    const study = randomUUID();
    const erased = await owner.transaction(async (tx) => {
      await tx.raw(`select set_config('app.studies', '*', true)`);
      await tx('studies').insert({ id: study, study_code: 'FORMER', study_name: 'Former' });
      await person(tx, study, OWN);
      const id = await person(tx, study, SECRET);
      await tx.raw(`select erase_participant(?, null, 'by letter', null, '{}')`, [id]);
      return id;
    });
    const places = await placesOf(reader, SECRET);
    expect(places, 'as that release left it').to.have.members([
      'anchor_date_history',
      'anchor_decisions',
      'domain_events',
      'form_instances',
      'scheduled_visits',
      'visit_states',
    ]);
    expect(await placesOf(reader, OWN)).to.deep.equal(places);

    await migrate(url);
    expect(await placesOf(reader, SECRET)).to.deep.equal([]);
    expect(await placesOf(reader, OWN)).to.deep.equal(places);
    const all = async (statement: string) =>
      (await reader.query<{ value: unknown }>(statement, [erased])).rows.map(({ value }) => value);
    expect(await all('select items as value from form_instances where participant_id = $1')).to.deep.equal([
      { weight_kg: 71, household: [{ age: 9 }] },
    ]);
    expect(await all('select name as value from scheduled_visits where participant_id = $1')).to.have.members([
      '[erased]',
      'Month 1',
    ]);
    await reader.query(`update form_instances set items = '{"weight_kg": 1}'`);
    expect(
      await all('select items as value from form_instances where participant_id = $1'),
      'it keeps its items',
    ).to.have.nested.property('[0].weight_kg', 71);
  });
});
