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

/**
 * Shares the named locks of each study of these visits until the commit, one name after the other: who has one to
 * themselves is waited for, others who share it are not.
 * @param names what stands before the study's id in the names of the locks
 */
export async function shareLocksOfStudies(
  tx: Tx,
  names: readonly string[],
  visitIds: readonly string[],
): Promise<void> {
  await execute(
    tx,
    `select pg_advisory_xact_lock_shared(hashtextextended(s.name || s.study_id, 0)) from (
       select n.name, v.study_id
         from (select distinct study_id::text as study_id from scheduled_visits where id = any($2::uuid[])) v
         cross join unnest($1::text[]) with ordinality as n(name, place)
         order by n.place, v.study_id) s`,
    [[...names], [...visitIds]],
  );
}
