import type { Knex } from 'knex';
import { openDatabase } from './knex.js';
import { latestRevision, migrations } from './migrations/index.js';
import type { SqlMigration } from './migrations/index.js';

const source: Knex.MigrationSource<SqlMigration> = {
  getMigrations: async () => [...migrations],
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => ({
    up: async (knex) => { await knex.raw(migration.up); },
    down: async () => { throw new Error('migrations only go forward'); },
  }),
};

export class SchemaError extends Error {}

/**
 * Brings the schema to the latest revision, under an advisory lock so that two processes take turns.
 * @returns the revision and what was applied. @throws SchemaError when the database is newer than this program.
 */
export async function migrate(databaseUrl: string, options: { appPassword?: string | undefined } = {}): Promise<{ revision: string; applied: string[] }> {
  const owner = openDatabase({ url: databaseUrl, name: 'migrate', asOwner: true, poolMax: 2 });
  try {
    return await owner.transaction(async (tx) => {
      await tx.raw(`set local lock_timeout = '20s'`);
      await tx.raw(`select pg_advisory_xact_lock(hashtext('research-schema'))`);
      await tx.raw(`select set_config('app.studies', '*', true)`);
      await refuseNewer(tx);
      const [, applied] = (await tx.migrate.latest({ migrationSource: source, disableTransactions: true })) as [number, string[]];
      if (options.appPassword) {
        // A statement that alters a role takes no parameters; quote_literal is done by the server.
        const { rows } = await tx.raw(`select format('alter role research_app login password %L', ?::text) as sql`, [options.appPassword]);
        await tx.raw(rows[0].sql);
      }
      await tx.raw('grant research_app to current_user; grant select on knex_migrations to research_app');
      return { revision: latestRevision, applied };
    });
  } finally {
    await owner.destroy();
  }
}

const newerSchema = (revisions: readonly string[]): string => `The database schema is newer than this program (it holds ${revisions.join(', ')}): start the newer release.`;

/** @throws SchemaError in one sentence when one of the revisions that a database holds is not known here */
export function refuseUnknown(applied: Iterable<string>): void {
  const known = new Set(migrations.map((m) => m.name));
  const newer = [...applied].filter((name) => !known.has(name));
  if (newer.length > 0) throw new SchemaError(newerSchema(newer));
}

async function refuseNewer(tx: Knex): Promise<void> {
  if (await tx.schema.hasTable('knex_migrations')) refuseUnknown(await tx('knex_migrations').pluck('name'));
}

/** The deployed revision must equal the latest (interface, "Versioning" 4). @throws SchemaError in one sentence. */
export async function assertLatestRevision(database: Knex): Promise<void> {
  const { rows } = await database.raw(`select to_regclass('knex_migrations') is not null as there`);
  // By name, not by the last that ran: two releases' revisions may have come in another order than their numbers.
  const applied = new Set<string>(rows[0].there ? await database('knex_migrations').pluck('name') : []);
  refuseUnknown(applied);
  const deployed = migrations.findLast((m) => applied.has(m.name))?.name;
  if (migrations.some((m) => !applied.has(m.name))) {
    throw new SchemaError(`The database schema is at revision ${deployed ?? 'none'}, this program needs ${latestRevision}: run "npm run migrate".`);
  }
}
