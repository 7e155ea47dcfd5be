import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { EventActivities } from '../../activities/events/events.activities.js';
import { deliveryChanged } from '../contract.js';
import type { EventDeliveryStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

const { attemptDelivery } = proxyActivities<EventActivities>({
  // The subscriber's answer is a result, not a failure: this only limits an outage of the database.
  startToCloseTimeout: '2m',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  summary: 'send the event if its time has come',
});

/**
 * Retries a delivery whose first attempt failed until it arrives or its retry time is over. The database has the time
 * of the next attempt; the workflow only waits for it.
 */
export async function eventDelivery(start: EventDeliveryStart): Promise<void> {
  let changed = false;
  setHandler(deliveryChanged, () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const { wait_ms, failure } = await attemptDelivery({ delivery_id: start.delivery_id, study_id: start.study_id });
    if (failure !== undefined)
      publishFailure(
        `failed: ${failure}\n\nOnce the subscriber answers: POST ` +
          `/api/studies/${start.study_id}/event-subscriptions/{id}/deliveries/${start.delivery_id}/redeliver.`,
      );
    if (wait_ms === null) return;
    setCurrentDetails(`next attempt in ${Math.round(wait_ms / 1000)} s`);
    await condition(() => changed, Math.max(1, wait_ms), { summary: 'until the next attempt' });
  }
}
