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
 * Migrates the schema to the latest revision, under an advisory lock: concurrent processes run one after another. The
 * events of a restored dump are put in their place.
 * @returns the revision and the applied migrations. @throws SchemaError when the database is newer than this program.
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
      await placeRestoredEvents(tx);
      if (options.appPassword) {
        // `alter role` takes no parameters; the server quotes the literal.
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

/** Less than the second after which PostgreSQL checks for deadlocks and ends one of the transactions. */
const TAKE_MS = 800;
/** Between two attempts blocked transactions continue; after this many the migrations take locks as they need them. */
const PAUSE_MS = 300,
  ATTEMPTS = 40;

/**
 * Locks every table before the first change. Migrations touch tables in another order than the transactions of a
 * running release and could deadlock with them. All locks are taken within an instant, or none; first those of the
 * tables that every request reads, so that running requests finish and the next ones queue.
 */
async function takeTables(tx: Knex.Transaction): Promise<void> {
  if (!(await tx.schema.hasTable('knex_migrations'))) return;
  const applied = new Set<string>(await tx('knex_migrations').pluck('name'));
  if (migrations.every(({ name }) => applied.has(name))) return;
  const { rows } = await tx.raw<{ rows: { name: string }[] }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p') and not relispartition and pg_has_role(relowner, 'usage')
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

/** @throws SchemaError in one sentence when a revision of the database is unknown here */
export function refuseUnknown(applied: Iterable<string>): void {
  const known = new Set(migrations.map((m) => m.name));
  const newer = [...applied].filter((name) => !known.has(name));
  if (newer.length > 0) throw new SchemaError(newerSchema(newer));
}

/** Studies whose last event, in the order of commits, has a transaction number that this server has yet to reach. */
const WITH_RESTORED_EVENTS = `select s.id from studies s
  cross join lateral (select coalesce(e.tx, '0') as tx from domain_events e where e.study_id = s.id
    order by coalesce(e.tx, '0') desc, e.seq desc limit 1) l
  where l.tx >= pg_snapshot_xmax(pg_current_snapshot())`;

/**
 * Puts the events of a database that was restored from a dump before those that follow, in the order in which they were
 * written. They have the transactions of another server, which may be ahead of this one's: streams and ordered
 * deliveries would wait for these numbers, and new events would come before them.
 */
async function placeRestoredEvents(tx: Knex): Promise<void> {
  const restored = ((await tx.raw(WITH_RESTORED_EVENTS)) as { rows: { id: string }[] }).rows.map(({ id }) => id);
  if (restored.length === 0) return;
  const allow = (change: 'on' | '') => tx.raw(`select set_config('app.erasing', ?, true)`, [change]);
  await allow('on');
  for (const table of ['domain_events', 'event_deliveries'])
    await tx.raw(`update ${table} set tx = null where study_id = any(?::uuid[])`, [restored]);
  await allow('');
}

async function refuseNewer(tx: Knex): Promise<void> {
  if (await tx.schema.hasTable('knex_migrations')) refuseUnknown(await tx('knex_migrations').pluck('name'));
}

/** The deployed revision must equal the latest. @throws SchemaError in one sentence. */
export async function assertLatestRevision(database: Knex): Promise<void> {
  const { rows } = await database.raw(`select to_regclass('knex_migrations') is not null as there`);
  // By name, not by the last that ran: revisions of two releases may have been applied in another order than their
  // numbers.
  const applied = new Set<string>(rows[0].there ? await database('knex_migrations').pluck('name') : []);
  refuseUnknown(applied);
  const deployed = migrations.findLast((m) => applied.has(m.name))?.name;
  if (migrations.some((m) => !applied.has(m.name))) {
    throw new SchemaError(
      `The database schema is at revision ${deployed ?? 'none'}, this program needs ${latestRevision}: run ` +
        '"npm run migrate".',
    );
  }
}
