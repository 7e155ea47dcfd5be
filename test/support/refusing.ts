import pg from 'pg';
import { service } from './service.js';

/**
 * Meanwhile the database takes only rows of a table of which `check` holds: what fits every schema and is refused by it
 * alone.
 */
export async function refusing<T>(table: string, check: string, work: () => Promise<T>): Promise<T> {
  const database = new pg.Client({ connectionString: (await service()).database_url });
  await database.connect();
  try {
    await database.query(`alter table ${table} add constraint refused_here check (${check}) not valid`);
    return await work();
  } finally {
    await database.query(`alter table ${table} drop constraint if exists refused_here`);
    await database.end();
  }
}
