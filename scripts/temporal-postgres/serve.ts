import { Part } from '../runtime/part.js';
import type { PartEvents } from '../runtime/part.js';
import { planTemporal } from './plan.js';
import type { TemporalPlace } from './plan.js';

export interface Served {
  address: string;
  /** Its PostgreSQL, with the owner's rights. */
  storeUrl: string;
  /** The server and its PostgreSQL: each is restarted when it dies. */
  server: Part;
  store: Part;
  stop: () => Promise<void>;
}

/**
 * Starts Temporal as in production.
 * @throws StartError with the last output of a part that does not start
 */
export async function serveTemporal({
  events,
  ...at
}: Omit<TemporalPlace, 'say'> & { events: PartEvents }): Promise<Served> {
  const plans = await planTemporal({ ...at, say: events.say });
  const store = new Part(plans.store, events),
    server = new Part(plans.server, events);
  const stop = async () => {
    await server.stop();
    await store.stop();
  };
  try {
    await store.start();
    await server.start();
    return { address: `${at.host}:${plans.port}`, storeUrl: plans.storeUrl, server, store, stop };
  } catch (fault) {
    await stop();
    throw fault;
  } finally {
    await plans.release();
  }
}
