import type { Tx } from '../client/database.js';

/** The tasks of any version of each battery of a study. */
export async function tasksOfBatteries(tx: Tx, studyId: string): Promise<Record<number, string[]>> {
  const rows = (await tx('battery_modules')
    .where({ study_id: studyId })
    .groupBy('battery_id')
    .select('battery_id', tx.raw('array_agg(distinct task) as tasks'))) as { battery_id: number; tasks: string[] }[];
  return Object.fromEntries(rows.map(({ battery_id, tasks }) => [battery_id, tasks]));
}
