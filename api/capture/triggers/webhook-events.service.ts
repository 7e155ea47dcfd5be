import { isExchanging } from '../../../db/capture/datacapture-configs.queries.js';
import { findWebhookEvent, retryWebhookEvent } from '../../../db/capture/webhook-events.queries.js';
import type { WebhookEventRow } from '../../../db/capture/webhook-events.queries.js';
import { auditActor } from '../../http/audit-actor.js';
import { problem } from '../../http/errors.js';
import type { RequestScope } from '../../http/state.js';

/** Requeues a failed trigger. @throws 404, 409 NOT_FAILED, DATACAPTURE_DISABLED */
export async function retryTrigger({ tx, audit, actor, context }: RequestScope, id: string): Promise<WebhookEventRow> {
  const event = await findWebhookEvent(tx, id, 'for update');
  if (!event) throw problem('NOT_FOUND', { detail: 'There is no such webhook event.' });
  if (event.status !== 'failed')
    throw problem('NOT_FAILED', { detail: `Only a failed trigger can be retried; this one is ${event.status}.` });
  if (!(await isExchanging(tx, event.study_id)))
    throw problem('DATACAPTURE_DISABLED', {
      detail: 'The study does not take part in the exchange with a capture system (datacapture_enabled is false).',
    });
  const retried = await retryWebhookEvent(tx, event);
  audit.record({
    ...auditActor(actor, context),
    study_id: event.study_id,
    action: 'webhook_event_retried',
    resource_type: 'webhook_event',
    resource_id: event.id,
    metadata: { attempt: retried.attempt },
  });
  return retried;
}

/** A webhook event for display. */
export const webhookEventView = (row: WebhookEventRow) => ({
  id: row.id,
  study_id: row.study_id,
  project_id: row.project_id,
  record: row.record,
  instrument: row.instrument,
  event_name: row.event_name,
  status: row.status,
  outcome: row.outcome,
  error: row.error,
  duplicate_of_id: row.duplicate_of_id,
  participant_id: row.participant_id,
  warnings: row.warnings,
  attempt: row.attempt,
  received_at: row.received_at,
  processed_at: row.processed_at,
});
