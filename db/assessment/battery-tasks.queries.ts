import type { Tx } from '../client/database.js';

/**
 * The keys of results that sessions of each battery may have, in any version: its tasks, its modules by name, and the
 * modules of a task that has several, by number.
 */
export async function tasksOfBatteries(tx: Tx, studyId: string): Promise<Record<number, string[]>> {
  const numbered = tx('battery_modules')
    .where({ study_id: studyId })
    .select(
      'battery_id',
      'task',
      'name',
      tx.raw('row_number() over (partition by battery_id, version, task) as number'),
    );
  const rows = (await tx
    .from(numbered.as('m'))
    .groupBy('battery_id', 'task')
    .select('battery_id', 'task', tx.raw('array_agg(distinct name) as names, max(number)::int as most'))) as {
    battery_id: number;
    task: string;
    names: string[];
    most: number;
  }[];
  const found: Record<number, string[]> = {};
  for (const { battery_id, task, names, most } of rows)
    (found[battery_id] ??= []).push(
      task,
      ...names,
      ...(most > 1 ? Array.from({ length: most }, (_, i) => `${task}#${i + 1}`) : []),
    );
  return found;
}
