import { policyStatement, recordHasParticipant } from '../../../db/capture/captured-participants.queries.js';
import type { PolicyOf } from '../../../db/capture/captured-participants.queries.js';
import { noteConnection } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { forgetReadings, readAgain, storeReading } from '../../../db/capture/datacapture-records.queries.js';
import { retryForbidden } from '../../../db/capture/push-requests.queries.js';
import { earlierTrigger, endWebhookEvent, noteProgress } from '../../../db/capture/webhook-events.queries.js';
import type { EarlierTrigger, WebhookEventRow } from '../../../db/capture/webhook-events.queries.js';
import { nowMs } from '../../../db/client/clock.js';
import type { Tx } from '../../../db/client/database.js';
import type { Statement } from '../../../db/client/one-trip.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import { putOutbox } from '../../../db/outbox/outbox.js';
import { enrollmentArm } from '../../../workflows/domain/capture/arms.js';
import { requiresOverride } from '../../../workflows/domain/capture/changed-dates.js';
import { duplicateOf, isUnchanged } from '../../../workflows/domain/capture/duplicates.js';
import { neededField, readingOf } from '../../../workflows/domain/capture/reading.js';
import { latestDay } from '../../../workflows/domain/util/dates.js';
import { decideBatch, wouldChange } from '../../anchor/decide-batch.js';
import { recordBusy, TriggerRefused } from '../client/failure.js';
import type { TriggerNotice } from '../notice.js';
import { contentHashOf, readingHashOf } from '../record-hashes.js';
import { isUnsettled } from '../sites.js';
import { adoptSpellings, enrollsNobody, STUDY_CLOSED, writeParticipants } from '../write-participants.js';
import type { WrittenParticipant } from '../write-participants.js';
import { completeTrigger, ignoreTrigger } from './complete-trigger.js';
import type { CompletedTrigger, TriggerReport } from './complete-trigger.js';
import type { OpenTrigger } from './open-trigger.js';
import type { ReadRecord } from './read-record.js';

/**
 * The statements behind a write: the policy, an earlier trigger with the same bytes, the record's participant.
 * @param record its name in the capture system
 */
export const writeStatements = (event: WebhookEventRow, record: string, dedupeHours: number): Statement[] => [
  policyStatement(event.study_id),
  earlierTrigger(event, dedupeHours),
  recordHasParticipant(event.study_id, record),
];

/**
 * Writes a trigger's record: a participant that is new, or that nothing has to be decided for, ends the trigger here.
 * @param rows the results of `writeStatements`
 * @returns what is left to be evaluated, or the result of the trigger
 */
export async function writeRecord(
  work: WriteTransaction,
  material: OpenTrigger & ReadRecord,
  rows: unknown[][],
): Promise<CompletedTrigger | TriggerReport> {
  const { tx } = work;
  const { event, config, claim, record, enrollment, asked, missing } = material;
  if (await provesAccess(tx, config)) await retryForbidden(tx, event.study_id, 'read');
  if (!enrollment) return ignoreTrigger(tx, event);
  const [[policy], [earlier], participants] = rows as [PolicyOf[], EarlierTrigger[], unknown[]];
  const rules = {
    instrument: event.instrument,
    mapping: config.participant_field_mapping,
    policy: policy?.policy ?? null,
    missing,
    latestDay: latestDay(nowMs()),
    boxes: material.boxes,
    arm: enrollmentArm(config.known_events, enrollment.event),
    unread: material.unread,
  };
  const reading = readingOf(record, enrollment.values, rules, event.data_access_group);
  const hashes = {
    content_hash: contentHashOf(material.rows, rules, asked),
    reading_hash: readingHashOf(reading, config.participant_field_mapping),
  };
  if (!(await storeReading(tx, event.study_id, event.record, event.id, claim, hashes))) throw recordBusy(200);

  // An interrupted attempt finds its own reading: that is no duplicate.
  const repeated = event.participant_id
    ? null
    : duplicateOf({
        earlierEventId: earlier?.id ?? null,
        unchanged: isUnchanged(claim, hashes),
        participantExists: participants.length > 0,
      });
  if (repeated && !claim.read_again) return endAsDuplicate(tx, event, repeated);

  const origin = {
    study_id: event.study_id,
    form_oid: event.instrument,
    date_field: config.participant_field_mapping['enrollment_date'],
    create_missing_sites: config.create_missing_sites,
    closed: policy?.closed ?? false,
    from: { webhook_event_id: event.id },
  };
  if (participants.length === 0) await adoptSpellings(work, origin, [record]);
  const result = (await writeParticipants(work, origin, [reading])).get(record)!;
  if (result instanceof TriggerRefused) {
    if (!enrollsNobody(result)) throw result;
    if (result.code !== STUDY_CLOSED) await readAgain(tx, event.study_id, [event.record]);
    return ignoreTrigger(tx, event, [{ code: result.code, message: result.message }]);
  }
  if (isUnsettled(result.notices)) await readAgain(tx, event.study_id, [event.record]);
  if (neededField(reading.unread ?? [])) await forgetReadings(tx, event.study_id, [event.record]);
  return decideHere(
    work,
    event,
    result,
    repeated && earlier!.participant_id === result.participant_id ? repeated : null,
  );
}

async function endAsDuplicate(
  tx: Tx,
  event: WebhookEventRow,
  of: string,
  warnings: TriggerNotice[] = [],
): Promise<TriggerReport> {
  await endWebhookEvent(tx, event.id, {
    status: 'duplicate',
    duplicate_of_id: of,
    ...(warnings.length > 0 && { warnings }),
  });
  return { status: 'duplicate', outcome: null };
}

/** Whether a reading shows that there is access (again): after a fault, or by a token that nobody has tested. */
const provesAccess = async (tx: Tx, { study_id, sync_status }: DatacaptureConfigRow): Promise<boolean> =>
  sync_status === 'pending' || (sync_status === 'error' && (await noteConnection(tx, study_id, null)));

/**
 * The decision within this transaction: for a participant that it creates, whose workflow does not run yet, and if
 * there is nothing to decide. Otherwise the participant's workflow decides, which alone changes an existing anchor.
 * @param repeated the trigger that this one repeats, if its record was only read again for what was left to be taken
 */
async function decideHere(
  work: WriteTransaction,
  event: WebhookEventRow,
  result: WrittenParticipant,
  repeated: string | null,
): Promise<CompletedTrigger | TriggerReport> {
  const { participant_id, notices, dates, differing } = result;
  if (result.outcome === 'created') {
    const decided = (await decideBatch(work, event.study_id, new Map([[participant_id, 'always']]), 'trigger')).get(
      participant_id,
    )!;
    return completeTrigger(work.tx, event, { participant_id, notices, outcome: 'created', dated: dates.any }, decided);
  }
  const { needed, decided } = await wouldChange(work, participant_id);
  if (repeated && result.outcome === 'unchanged' && !dates.any && !result.moved && !needed)
    return endAsDuplicate(work.tx, event, repeated, notices);
  // An earlier attempt wrote the reading, and was interrupted before the participant's workflow answered.
  const handedOver = event.participant_id !== null && result.outcome === 'unchanged';
  const written = {
    participant_id,
    notices,
    outcome: outcomeOf(event, result, requiresOverride(differing, decided)),
    dated: dates.any || handedOver,
  };
  if (needed) return handOver(work.tx, event, written);
  if (result.moved)
    await putOutbox(work.tx, [{ topic: 'sources-changed', studyId: event.study_id, subject: participant_id }]);
  return completeTrigger(work.tx, event, written, decided);
}

/** A retry finds everything unchanged: the event reports the effect of the first attempt. */
function outcomeOf(event: WebhookEventRow, { outcome }: WrittenParticipant, held: boolean): string {
  if (held || event.outcome === 'override_required') return 'override_required';
  return event.outcome === 'created' || (outcome === 'unchanged' && event.outcome) ? event.outcome : outcome;
}

async function handOver(tx: Tx, event: WebhookEventRow, written: CompletedTrigger): Promise<CompletedTrigger> {
  await noteProgress(tx, event.id, {
    participant_id: written.participant_id,
    outcome: written.outcome,
    warnings: written.notices,
  });
  return written;
}
