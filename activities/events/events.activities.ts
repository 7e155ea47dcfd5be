import { claimDelivery, failureOf, waitOf } from '../../db/events/event-deliveries.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { sendDelivery, leaseSeconds } from './attempt.js';
import type { EventDeps } from './attempt.js';

export interface DeliveryStart {
  delivery_id: string;
  study_id: string;
}
export interface EventActivities {
  /**
   * Makes the next attempt if it is due. @returns how long until the next one; null: none, with the reason if it failed
   * permanently
   */
  attemptDelivery(start: DeliveryStart): Promise<{ wait_ms: number | null; failure?: string }>;
}

/** The activities of a delivery's workflow between its waits. A retry finds the stored state. */
export const createEventActivities = (deps: EventDeps): EventActivities => {
  const claim = ({ delivery_id, study_id }: DeliveryStart) =>
    withStudyScope(deps.database, study_id, ({ tx }) => claimDelivery(tx, delivery_id, leaseSeconds(deps)));
  return {
    async attemptDelivery(start) {
      const claimed = await claim(start);
      if (!claimed) return { wait_ms: null };
      if ('wait_ms' in claimed) return claimed;
      await sendDelivery(deps, claimed, false);
      return readInScope(deps.database, start.study_id, async (tx) => {
        const wait = await waitOf(tx, start.delivery_id);
        if (wait !== undefined) return { wait_ms: wait };
        const failure = await failureOf(tx, start.delivery_id);
        return { wait_ms: null, ...(failure !== undefined && { failure }) };
      });
    },
  };
};
