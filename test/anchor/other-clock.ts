import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { unique } from '../support/http.js';
import type { Stage } from './stage.js';

/** Works with a connection for which the service's database has another clock: by so many seconds it is ahead. */
export async function withOtherClock<T>(
  stage: Stage,
  aheadSeconds: number,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const schema = unique('clock').toLowerCase().replace(/\W/g, '_');
  await stage.sql(`create schema ${schema}`);
  await stage.sql(
    `create function ${schema}.clock_timestamp() returns timestamptz language sql volatile as $$ select pg_catalog.clock_timestamp() + interval '${aheadSeconds} seconds' $$`,
  );
  const url = new URL(stage.run.database_url);
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog,public`);
  const database = openDatabase({ url: url.href, name: 'other-clock', poolMax: 2, asOwner: true });
  try {
    return await work(database);
  } finally {
    await database.destroy();
    await stage.sql(`drop schema ${schema} cascade`);
  }
}
