import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { EventActivities } from '../../activities/events/events.activities.js';
import { deliveryChanged } from '../contract.js';
import type { EventDeliveryStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

const { attemptDelivery } = proxyActivities<EventActivities>({
  // What the subscriber does is an outcome, not a failure: this bounds an outage of the database alone.
  startToCloseTimeout: '2m',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  summary: 'send the event if its time has come',
});

/**
 * Repeats a delivery whose first attempt failed until it arrives or its time is up (decisions, section 5, "Emitted
 * events"). When the next attempt is due stands in the database; what is waited for here is only that moment.
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
        `failed: ${failure}\n\nOnce the subscriber answers: POST /api/studies/${start.study_id}/event-subscriptions/{id}/deliveries/${start.delivery_id}/redeliver.`,
      );
    if (wait_ms === null) return;
    setCurrentDetails(`next attempt in ${Math.round(wait_ms / 1000)} s`);
    await condition(() => changed, Math.max(1, wait_ms), { summary: 'until the next attempt' });
  }
}
