import { countFailing } from '../../db/operations/failing-workflows.queries.js';
import type { Dependencies } from '../dependencies.js';

const PATIENCE_MS = 2_000;

/**
 * The number of workflows with repeatedly failing tasks, by type, from a worker's last check. Undefined while the
 * database is unavailable: the rest of the answer does not wait for it.
 */
export async function failingWorkflows({
  database,
  log,
}: Pick<Dependencies, 'database' | 'log'>): Promise<Map<string, number> | undefined> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('timed out')), PATIENCE_MS);
    });
    return await Promise.race([countFailing(database), late]);
  } catch (fault) {
    log.warn(
      { fault: fault instanceof Error ? fault.name : 'fault' },
      'failing workflows could not be counted: the database is away',
    );
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
