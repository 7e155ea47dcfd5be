import { withKeepAlive } from './connection/keep-alive.js';
import { execute, query } from './query.js';
import type { Database, Tx } from './database.js';

/**
 * Runs work that only one process may do at a time, for as long as it takes: it often waits for something other than
 * this database. A process that hangs loses the lock after half a minute (`db/client/knex.ts`).
 * @returns false: another process holds the lock, nothing was done
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

/** Takes a named lock until the commit: transactions with the same name run one after another. */
export async function lockByName(tx: Tx, name: string): Promise<void> {
  await execute(tx, 'select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
