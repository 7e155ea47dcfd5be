import { countFailing } from '../../db/operations/failing-workflows.queries.js';
import type { Dependencies } from '../dependencies.js';

const PATIENCE_MS = 2_000;

/**
 * How many workflows fail their tasks again and again, by type, as a worker last saw them. Undefined while the database
 * is away: what is told beside it does not wait for it.
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
