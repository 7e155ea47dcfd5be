import type { Database } from '../../db/client/database.js';
import { until } from './until.js';

/** The rows that are held: a statement that locks them, and its values. */
export type Held = readonly [statement: string, ...values: string[]];

/** A change of a study waits here when all of it is written, and its rows are locked. */
export const atItsCommit = (studyId: string): Held => [
  'select 1 from audit_chains where study_id = ? for update',
  studyId,
];

/** The process ids of a database connection, of those that wait for its locks, and of those that wait for these. */
async function behind(owner: Database, holder: number): Promise<Set<number>> {
  const { rows } = await owner.raw<{ rows: { pid: number; by: number[] }[] }>(
    'select pid, pg_blocking_pids(pid) as by from pg_stat_activity where datname = current_database()',
  );
  const found = new Set([holder]);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const { pid, by } of rows) if (by.some((each) => found.has(each))) found.add(pid);
  }
  return found;
}

/**
 * Begins each while rows are held, one behind the other, then lets them go on.
 * @param owner a pool of the database's owner, of two connections at least
 * @returns what each gave
 */
export async function whileHeld<T>(
  owner: Database,
  [statement, ...values]: Held,
  ...begun: (() => Promise<T>)[]
): Promise<T[]> {
  const holder = await owner.transaction();
  const works: Promise<T>[] = [];
  try {
    const { pid } = (await holder.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid')).rows[0]!;
    await holder.raw(statement, values);
    for (const begin of begun) {
      const there = await behind(owner, pid);
      works.push(begin());
      await until(async () => [...(await behind(owner, pid))].some((each) => !there.has(each)), {
        what: 'the next to wait',
      });
    }
  } finally {
    await holder.rollback();
  }
  return Promise.all(works);
}
