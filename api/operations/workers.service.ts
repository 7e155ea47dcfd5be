import { knownWorkers } from '../../db/operations/worker-heartbeats.queries.js';
import type { KnownWorkers } from '../../db/operations/worker-heartbeats.queries.js';
import type { Dependencies } from '../dependencies.js';

/** A worker sends a heartbeat every three seconds; one without a heartbeat for this long is frozen or gone. */
export const SILENT_SECONDS = 10;
const PATIENCE_MS = 2_000;

/**
 * The workers of this service's task queue, with silent ones. Undefined while the database is unavailable: the rest of
 * the answer does not wait for it.
 */
export async function workerStatuses({
  database,
  settings,
  log,
}: Pick<Dependencies, 'database' | 'settings' | 'log'>): Promise<KnownWorkers | undefined> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('timed out')), PATIENCE_MS);
    });
    return await Promise.race([knownWorkers(database, settings.TEMPORAL_TASK_QUEUE, SILENT_SECONDS), late]);
  } catch (fault) {
    log.debug({ fault: fault instanceof Error ? fault.name : 'fault' }, 'signs of workers could not be read');
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
