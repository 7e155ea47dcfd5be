import { readOneInScope } from '../client/transaction.js';
import { query } from '../client/query.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** A run whose workflow task fails repeatedly. `problem`: the kind of fault, in Temporal's words. */
export interface FailingWorkflow {
  run_id: string;
  workflow_id: string;
  workflow_type: string;
  problem: string;
}

/** The known failing runs, the oldest first. */
export async function knownFailing(tx: Tx, most: number): Promise<Omit<FailingWorkflow, 'problem'>[]> {
  return tx('failing_workflows').orderBy('seen_at').limit(most).select('run_id', 'workflow_id', 'workflow_type');
}

/**
 * Stores the findings of a check.
 * @param looked the checked runs: one that is not in `failing` has recovered or ended. `all`: every run
 * @returns the newly failing runs, and those that no longer fail
 */
export async function noteFailing(
  tx: Tx,
  failing: readonly FailingWorkflow[],
  looked: 'all' | readonly string[],
): Promise<{ found: FailingWorkflow[]; well: FailingWorkflow[] }> {
  const runs = failing.map(({ run_id }) => run_id);
  const gone = tx('failing_workflows').whereRaw('run_id <> all(?::uuid[])', [runs]);
  if (looked !== 'all') void gone.whereRaw('run_id = any(?::uuid[])', [[...looked]]);
  const well: FailingWorkflow[] = await gone.delete().returning(['run_id', 'workflow_id', 'workflow_type', 'problem']);
  const noted = await query<FailingWorkflow & { is_new: boolean }>(
    tx,
    `insert into failing_workflows as f (run_id, workflow_id, workflow_type, problem)
     select run_id, workflow_id, workflow_type, problem
       from jsonb_to_recordset($1::jsonb) as r(run_id uuid, workflow_id text, workflow_type text, problem text)
     on conflict (run_id) do update set problem = excluded.problem, seen_at = clock_timestamp()
     returning run_id, workflow_id, workflow_type, problem, xmax = 0 as is_new`,
    [JSON.stringify(failing)],
  );
  const found = noted.filter(({ is_new }) => is_new).map(({ is_new: _, ...run }) => run);
  return { found, well: well as FailingWorkflow[] };
}

/** The number of failing runs by type, without types that have none. */
export async function countFailing(database: Database): Promise<Map<string, number>> {
  const rows = await readOneInScope<{ workflow_type: string; failing: number }>(database, [], {
    sql: 'select workflow_type, count(*)::int as failing from failing_workflows group by workflow_type',
    values: [],
  });
  return new Map(rows.map(({ workflow_type, failing }) => [workflow_type, failing]));
}
