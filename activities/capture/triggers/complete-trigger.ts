import { participantStarted, notifyCoordinators } from '../../../db/capture/captured-participants.queries.js';
import { noteConnection } from '../../../db/capture/datacapture-configs.queries.js';
import { endWebhookEvent, findWebhookEvent } from '../../../db/capture/webhook-events.queries.js';
import type { WebhookEventRow } from '../../../db/capture/webhook-events.queries.js';
import { putOutbox } from '../../../db/outbox/outbox.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { AnchorOutcome, DatacaptureTriggerStart } from '../../../workflows/contract.js';
import { dateRefused } from '../../../workflows/domain/capture/changed-dates.js';
import type { CaptureDeps } from '../deps.js';
import type { TriggerNotice } from '../notice.js';
import type { Tx } from '../../../db/client/database.js';

export interface TriggerReport {
  status: string;
  outcome: string | null;
}
/** The effect of a trigger's reading on the participant. */
export interface CompletedTrigger {
  participant_id: string;
  outcome: string;
  notices: TriggerNotice[];
  /** It changed a date that anchors depend on: the schedule also follows a proposal. */
  dated: boolean;
}

/** Ends a trigger that enrolls and changes nobody without effect. */
export async function ignoreTrigger(
  tx: Tx,
  event: WebhookEventRow,
  warnings: TriggerNotice[] = [],
): Promise<TriggerReport> {
  await endWebhookEvent(tx, event.id, {
    status: 'processed',
    outcome: 'ignored',
    ...(warnings.length > 0 && { warnings }),
  });
  return { status: 'processed', outcome: 'ignored' };
}

/**
 * Has the participant's workflow evaluate the anchor (only it may change it), and ends the trigger with the result. If
 * this is interrupted, the trigger keeps the record: its next attempt runs before any other trigger of the record.
 */
export async function finishTrigger(
  deps: CaptureDeps,
  event: WebhookEventRow,
  written: CompletedTrigger,
): Promise<TriggerReport> {
  const { study_id, id } = event;
  // A manual retry is another command: the answer to the first one is not repeated.
  const updateId = event.attempt === 0 ? `trigger-${id}` : `trigger-${id}-${event.attempt}`;
  const answer = await deps.anchors.evaluate(
    written.participant_id,
    study_id,
    { ensure_schedule: written.dated, actor_type: 'workflow' },
    updateId,
  );
  return withStudyScope(deps.database, study_id, async ({ tx }) => {
    await participantStarted(tx, written.participant_id);
    // The anchor may have become final after the record was read.
    const held = written.dated && answer.result === 'override_required';
    return completeTrigger(tx, event, held ? { ...written, outcome: 'override_required' } : written, answer);
  });
}

/** Ends a trigger with the results of its reading and the evaluation, and releases its record. */
export async function completeTrigger(
  tx: Tx,
  event: WebhookEventRow,
  written: CompletedTrigger,
  answer: Pick<AnchorOutcome, 'result' | 'errors'>,
): Promise<TriggerReport> {
  const { study_id, id } = event;
  const { outcome } = written;
  const refused = dateRefused(answer);
  await endWebhookEvent(tx, id, {
    status: 'processed',
    outcome,
    error: refused,
    participant_id: written.participant_id,
    // As a sync tells it.
    warnings: refused === null ? written.notices : [...written.notices, { code: 'DATE_NOT_TAKEN', message: refused }],
  });
  if (outcome === 'override_required') await notifyCoordinators(tx, study_id, written.participant_id, { id, key: id });
  return { status: 'processed', outcome };
}

export interface TriggerFault {
  type: string;
  message: string;
}

/** Faults of the connection: the configuration's status shows them. */
const CONNECTION_FAULTS = new Set([
  'configuration',
  'rejected',
  'connection_error',
  'http_error',
  'timeout',
  'invalid_response',
]);

/** Ends a failed trigger with code and reason; data that it has written are still evaluated. */
export async function failTrigger(
  deps: CaptureDeps,
  start: DatacaptureTriggerStart,
  fault: TriggerFault,
): Promise<TriggerReport> {
  const { study_id, event_id } = start;
  return withStudyScope(deps.database, study_id, async ({ tx, audit }) => {
    const event = await findWebhookEvent(tx, event_id, 'for update');
    if (!event) return { status: 'failed', outcome: null };
    const error = `${fault.type}: ${fault.message}`.slice(0, 1_000);
    if (!(await endWebhookEvent(tx, event_id, { status: 'failed', error })))
      return { status: event.status, outcome: event.outcome };
    if (CONNECTION_FAULTS.has(fault.type)) await noteConnection(tx, study_id, fault.message);
    if (event.participant_id)
      await putOutbox(tx, [{ topic: 'sources-changed', studyId: study_id, subject: event.participant_id }]);
    audit.record({
      study_id,
      user_id: null,
      action: 'webhook_event_failed',
      resource_type: 'webhook_event',
      resource_id: event_id,
      metadata: { code: fault.type, attempt: event.attempt },
    });
    return { status: 'failed', outcome: event.outcome };
  });
}
