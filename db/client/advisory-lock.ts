import { withKeepAlive } from './keep-alive.js';
import { execute, query } from './query.js';
import type { Database, Tx } from './database.js';

/**
 * Work that one process at a time is at, for as long as it takes: what it waits for is often not this database. Who
 * stands still at it loses its turn after half a minute (`db/client/knex.ts`).
 * @returns false: another process is at it, nothing was done
 */
export async function withAdvisoryLock(
  database: Database,
  name: string,
  work: () => Promise<unknown>,
): Promise<boolean> {
  return database.transaction(async (lock) => {
    const rows = await query<{ mine: boolean }>(lock, 'select pg_try_advisory_xact_lock(hashtext($1)) as mine', [name]);
    if (!rows[0]!.mine) return false;
    await withKeepAlive(lock, work);
    return true;
  });
}

/** Takes a lock by its name until the commit: transactions that take the same one go one after another. */
export async function lockByName(tx: Tx, name: string): Promise<void> {
  await execute(tx, 'select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
