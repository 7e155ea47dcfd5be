import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { LEFT_OUT, studyTables } from '../../db/exports/full-study/tables.js';
import { SchemaError, assertLatestRevision, migrate } from '../../db/migrate.js';
import { dumpSchema } from '../../db/schema-dump.js';
import { root } from '../support/environment.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

describe('the database schema', () => {
  let owner: Database;
  let url: string;
  before(async () => {
    url = (await service()).database_url;
    owner = openDatabase({ url, name: 'schema-test', asOwner: true, poolMax: 2 });
  });
  after(() => owner.destroy());

  it('is the committed db/schema.sql', async () => {
    expect(await dumpSchema(owner), 'run "npm run schema" after a migration').to.equal(
      readFileSync(join(root, 'db', 'schema.sql'), 'utf8'),
    );
  });

  it('isolates every table with a study_id by forced row-level security', async () => {
    const { rows } = await owner.raw(
      `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
       where c.relkind in ('r', 'p') and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'study_id')
         and not (c.relrowsecurity and c.relforcerowsecurity)`,
    );
    // The assignment of users, the chains' heads and the relay's messages are not study data: they are read before a
    // study is known.
    expect(rows.map((r: { relname: string }) => r.relname).sort()).to.deep.equal([
      'audit_chains',
      'outbox',
      'user_studies',
    ]);
  });

  it('has every table with a study_id in the full export of a study, or among those left out with a reason', async () => {
    const { rows } = await owner.raw(
      `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
       join pg_attribute a on a.attrelid = c.oid and a.attname = 'study_id' where c.relkind in ('r', 'p') and not c.relispartition`,
    );
    const known = [...studyTables.map((table) => table.name), ...Object.keys(LEFT_OUT)];
    expect(
      rows.map((r: { relname: string }) => r.relname).filter((table: string) => !known.includes(table)),
      'to be named in db/exports/full-study/tables.ts',
    ).to.deep.equal([]);
  });

  it('gives the application role nothing to own', async () => {
    const { rows } = await owner.raw(
      `select count(*)::int as n from pg_class where relowner = 'research_app'::regrole`,
    );
    expect(rows[0].n).to.equal(0);
    const role = (
      await owner.raw(
        `select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname = 'research_app'`,
      )
    ).rows[0];
    expect(role).to.deep.equal({ rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false });
  });

  /**
   * A function keeps the plan of its connection's first statement, which often changed no row. A join of the rows before
   * and after is then planned for none: it compares each with each, and thousands of visits take minutes.
   */
  it('joins no two transition tables in the function of a trigger', async () => {
    const { rows } = await owner.raw<{ rows: { name: string; body: string; before: string; after: string }[] }>(
      `select p.proname as name, p.prosrc as body, t.tgoldtable as before, t.tgnewtable as after
       from pg_trigger t join pg_proc p on p.oid = t.tgfoid where t.tgoldtable is not null and t.tgnewtable is not null`,
    );
    expect(rows.map(({ name }) => name)).to.include.members(['record_changed_visits', 'visits_changed']);
    for (const { name, body, before, after } of rows)
      expect(body, name).not.to.match(new RegExp(`(\\bjoin|,)\\s+(${before}|${after})\\b`, 'i'));
  });

  it('refuses to serve at another revision than the latest, and to migrate a newer database', async () => {
    const name = `revision_${process.pid}`;
    await owner.raw(`create database ${name}`);
    const other = new URL(url);
    other.pathname = `/${name}`;
    const db = openDatabase({ url: other.toString(), name: 'revision-test', asOwner: true, poolMax: 1 });
    try {
      await refuses(assertLatestRevision(db), /revision none/);
      const { applied } = await migrate(other.toString());
      expect(applied).to.have.length.greaterThan(5);
      await assertLatestRevision(db);
      expect((await migrate(other.toString())).applied).to.deep.equal([]);
      await db('knex_migrations').insert({ name: '9999-of-tomorrow', batch: 99, migration_time: new Date() });
      await refuses(assertLatestRevision(db), /9999-of-tomorrow/);
      await refuses(migrate(other.toString()), /newer than this program/);
    } finally {
      await db.destroy();
      await owner.raw(`drop database ${name} with (force)`);
    }
  });
});

async function refuses(attempt: Promise<unknown>, words: RegExp): Promise<void> {
  const fault = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(fault).to.be.instanceOf(SchemaError);
  expect((fault as Error).message).to.match(words);
}
