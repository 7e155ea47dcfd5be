import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { openDatabase } from './client/knex.js';
import { latestRevision, migrations } from './migrations/index.js';
import type { SqlMigration } from './migrations/index.js';

const source: Knex.MigrationSource<SqlMigration> = {
  getMigrations: async () => [...migrations],
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => ({
    up: async (knex) => {
      await knex.raw(migration.up);
    },
    down: async () => {
      throw new Error('migrations only go forward');
    },
  }),
};

export class SchemaError extends Error {}

/**
 * Brings the schema to the latest revision, under an advisory lock so that two processes take turns.
 * @returns the revision and what was applied. @throws SchemaError when the database is newer than this program.
 */
export async function migrate(
  databaseUrl: string,
  options: { appPassword?: string | undefined } = {},
): Promise<{ revision: string; applied: string[] }> {
  const owner = openDatabase({ url: databaseUrl, name: 'migrate', asOwner: true, poolMax: 2 });
  try {
    return await owner.transaction(async (tx) => {
      await tx.raw(`set local lock_timeout = '20s'`);
      await tx.raw(`select pg_advisory_xact_lock(hashtext('research-schema'))`);
      await tx.raw(`select set_config('app.studies', '*', true)`);
      await refuseNewer(tx);
      await takeTables(tx);
      const [, applied] = (await tx.migrate.latest({ migrationSource: source, disableTransactions: true })) as [
        number,
        string[],
      ];
      if (options.appPassword) {
        // A statement that alters a role takes no parameters; quote_literal is done by the server.
        const { rows } = await tx.raw(`select format('alter role research_app login password %L', ?::text) as sql`, [
          options.appPassword,
        ]);
        await tx.raw(rows[0].sql);
      }
      await tx.raw('grant research_app to current_user; grant select on knex_migrations to research_app');
      return { revision: latestRevision, applied };
    });
  } finally {
    await owner.destroy();
  }
}

/** Less than the second after which PostgreSQL looks for those who wait in a circle, and ends one of them. */
const TAKE_MS = 800;
/**
 * Between two attempts whoever was held up goes on; after so many the migrations take what they need as they come to
 * it.
 */
const PAUSE_MS = 300,
  ATTEMPTS = 40;

/**
 * Locks every table before the first is changed. Migrations come to tables in another order than the transactions of a
 * release that is running: each would hold what the other waits for. All are had within an instant, or none of them;
 * first those that every request reads, so that those under way come to their end and the next ones wait in line.
 */
async function takeTables(tx: Knex.Transaction): Promise<void> {
  if (!(await tx.schema.hasTable('knex_migrations'))) return;
  const applied = new Set<string>(await tx('knex_migrations').pluck('name'));
  if (migrations.every(({ name }) => applied.has(name))) return;
  const { rows } = await tx.raw<{ rows: { name: string }[] }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and pg_has_role(relowner, 'usage')
     order by relname not in ('users', 'studies'), relname`,
  );
  const lock = `lock table ${rows.map(({ name }) => name).join(', ')} in access exclusive mode`;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (
      await tx
        .transaction((savepoint) => locked(savepoint, lock))
        .catch((fault: { code?: unknown }) => {
          if (fault.code === QUERY_CANCELED) return false;
          throw fault;
        })
    )
      return;
    await sleep(PAUSE_MS);
  }
}

const QUERY_CANCELED = '57014';
async function locked(savepoint: Knex.Transaction, lock: string): Promise<true> {
  await savepoint.raw(`set local statement_timeout = ${TAKE_MS}`);
  await savepoint.raw(lock);
  await savepoint.raw('set local statement_timeout to default');
  return true;
}

const newerSchema = (revisions: readonly string[]): string =>
  `The database schema is newer than this program (it holds ${revisions.join(', ')}): start the newer release.`;

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
    throw new SchemaError(
      `The database schema is at revision ${deployed ?? 'none'}, this program needs ${latestRevision}: run "npm run migrate".`,
    );
  }
}
