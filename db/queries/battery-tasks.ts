import type { Tx } from '../knex.js';

/** Of each battery of a study the tasks that any version of it has. */
export async function tasksOfBatteries(tx: Tx, studyId: string): Promise<Record<number, string[]>> {
  const { rows } = await tx.raw(
    'select battery_id, array_agg(distinct task) as tasks from battery_modules where study_id = ? group by battery_id',
    [studyId],
  );
  return Object.fromEntries(
    (rows as { battery_id: number; tasks: string[] }[]).map(({ battery_id, tasks }) => [battery_id, tasks]),
  );
}
