import { policyStatement, recordHasParticipant } from '../../db/capture/captured-participants.queries.js';
import { nowMs } from '../../db/client/clock.js';
import type { PolicyOf } from '../../db/capture/captured-participants.queries.js';
import { configStatement, noteConnection } from '../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { retryForbidden } from '../../db/capture/push-requests.queries.js';
import { claimRecord, releaseRecord, storeReading } from '../../db/capture/datacapture-records.queries.js';
import type { RecordClaim } from '../../db/capture/datacapture-records.queries.js';
import {
  earlierTrigger,
  endWebhookEvent,
  eventStatement,
  noteProgress,
  openTriggersBefore,
} from '../../db/capture/webhook-events.queries.js';
import type { WebhookEventRow } from '../../db/capture/webhook-events.queries.js';
import { withStudyScope, readInScope, writeInScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import type { DatacaptureTriggerStart } from '../../workflows/contract.js';
import { enrollmentArm } from '../../workflows/domain/capture/arms.js';
import { requiresOverride } from '../../workflows/domain/capture/changed-dates.js';
import { duplicateOf, isUnchanged } from '../../workflows/domain/capture/duplicates.js';
import {
  concernsEnrollment,
  enrollmentEvents,
  enrollmentOf,
  hasForm,
  ownFields,
  tellsByStatus,
} from '../../workflows/domain/capture/enrollment.js';
import type { Enrollment } from '../../workflows/domain/capture/enrollment.js';
import { presentName } from '../../workflows/domain/capture/known-events.js';
import { latestDay } from '../../workflows/domain/util/dates.js';
import { readingOf, unreadFields } from '../../workflows/domain/capture/reading.js';
import { readsSurveyTime, recordOf, rowsOfRecord } from '../../workflows/domain/capture/record.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';
import { decideBatch, wouldChange } from '../anchor/decide-batch.js';
import { clientOf, dictionaryRows, primaryKeyOf, projectFacts } from './client/connection.js';
import type { CaptureDeps } from './deps.js';
import { completeTrigger, finishTrigger } from './complete-trigger.js';
import type { TriggerReport, CompletedTrigger } from './complete-trigger.js';
import { formNotExported, recordBusy, TriggerRefused } from './client/failure.js';
import { withPresentNames } from './follow-events.js';
import { contentHashOf, readingHashOf } from './client/hashes.js';
import { adoptSpellings, writeParticipants } from './write-participants.js';
import type { WrittenParticipant } from './write-participants.js';
import type { Tx } from '../../db/client/database.js';

/** Longer than an attempt's calls may take: an expired lease belongs to a dead attempt. */
const leaseSeconds = ({ settings }: CaptureDeps) => 6 * settings.DATACAPTURE_TIMEOUT_SECONDS + 30;
/** The typical time of one trigger. */
const EACH_MS = 150,
  MAX_WAIT_MS = 5_000;

/**
 * Processes a trigger: claim the record, read it from the capture system, write its data for the participant, have the
 * anchor evaluated, end the event. The trigger holds the record until the end, so that triggers of one record run one
 * after the other. Each step may be retried; the progress is in the database.
 */
export function processTrigger(deps: CaptureDeps, start: DatacaptureTriggerStart): Promise<TriggerReport> {
  // An attempt that Temporal timed out may still get its answer: the next one waits for it as well.
  const before = running.get(start.event_id);
  if (before) return before;
  const attempt = attemptTrigger(deps, start).finally(() => running.delete(start.event_id));
  running.set(start.event_id, attempt);
  return attempt;
}

/** Running attempts of this process, by event. */
const running = new Map<string, Promise<TriggerReport>>();

async function attemptTrigger(deps: CaptureDeps, start: DatacaptureTriggerStart): Promise<TriggerReport> {
  const opened = await openTrigger(deps, start);
  if ('ended' in opened) return opened.ended;
  const { event, config } = opened;
  let written: CompletedTrigger | TriggerReport;
  try {
    const fetched = await fetchRecord(deps, event, config);
    written = await withStudyScope(
      deps.database,
      event.study_id,
      (work, standing) => write(work, { ...opened, ...fetched }, standing),
      'one',
      [
        policyStatement(event.study_id),
        earlierTrigger(event, deps.settings.WEBHOOK_DEDUPE_HOURS),
        recordHasParticipant(event.study_id, event.record),
      ],
    );
  } catch (failure) {
    await withStudyScope(deps.database, event.study_id, ({ tx }) =>
      releaseRecord(tx, event.study_id, event.record, event.id),
    );
    throw failure;
  }
  return 'status' in written ? written : finishTrigger(deps, event, written);
}

interface Opened {
  event: WebhookEventRow;
  config: DatacaptureConfigRow;
  claim: RecordClaim;
}

/** The trigger with its claimed record, or its result: from an earlier attempt, or for another instrument. */
async function openTrigger(
  deps: CaptureDeps,
  start: DatacaptureTriggerStart,
): Promise<Opened | { ended: TriggerReport }> {
  const { study_id, event_id } = start;
  const [[claim], [event], [config]] = (await writeInScope(
    deps.database,
    study_id,
    [claimRecord(study_id, event_id, leaseSeconds(deps)), eventStatement(event_id), configStatement(study_id)],
    'one',
  )) as [RecordClaim[], WebhookEventRow[], DatacaptureConfigRow[]];
  if (!event) throw new TriggerRefused('EVENT_NOT_FOUND', 'There is no such webhook event.');
  if (event.status !== 'received' && event.status !== 'processing')
    return { ended: { status: event.status, outcome: event.outcome } };
  if (!config) throw new TriggerRefused('CONFIG_NOT_FOUND', 'The study has no capture-system configuration any more.');
  const present = await presently(deps, event, config);
  const rules = {
    instrument: present.config.enrollment_instrument,
    events: enrollmentEvents(present.config.enrollment_event),
  };
  if (!concernsEnrollment(present.event, rules))
    return { ended: await withStudyScope(deps.database, study_id, ({ tx }) => ignore(tx, event)) };
  return { ...present, claim: claim ?? (await stepBack(deps, event)) };
}

/**
 * Trigger and configuration with the present event names: a trigger may be older than a rename, or the first to reveal
 * it.
 */
async function presently(
  deps: CaptureDeps,
  event: WebhookEventRow,
  config: DatacaptureConfigRow,
): Promise<{ event: WebhookEventRow; config: DatacaptureConfigRow }> {
  const name = event.event_name;
  const known = Object.values(config.known_events);
  if (!name || known.length === 0 || event.instrument !== config.enrollment_instrument) return { event, config };
  const called = presentName(config.known_events, name);
  if (called !== name) return { event: { ...event, event_name: called }, config };
  if (known.some((each) => !each.gone && each.name === name)) return { event, config };
  return { event, config: await withPresentNames(deps, { config, client: await clientOf(deps, config) }) };
}

/** Ends a trigger unrelated to enrollment without effect. */
async function ignore(tx: Tx, event: WebhookEventRow): Promise<TriggerReport> {
  await endWebhookEvent(tx, event.id, { status: 'processed', outcome: 'ignored' });
  return { status: 'processed', outcome: 'ignored' };
}

/**
 * Another trigger holds the record: retries when those before it should be done; Temporal waits, without occupying a
 * worker slot.
 */
async function stepBack(deps: CaptureDeps, event: WebhookEventRow): Promise<never> {
  const ahead = await readInScope(deps.database, event.study_id, (tx) => openTriggersBefore(tx, event));
  throw recordBusy(Math.min(EACH_MS * Math.max(1, ahead), MAX_WAIT_MS) * (0.8 + Math.random() * 0.4));
}

interface Fetched {
  /** The record's name in the capture system: a trigger may write it in other case. */
  record: string;
  rows: ExportRow[];
  /** null: the record is not enrolled. */
  enrollment: Enrollment | null;
  /** The only requested events. */
  asked: string | null;
  missing: ReadonlySet<string>;
}

async function fetchRecord(deps: CaptureDeps, event: WebhookEventRow, config: DatacaptureConfigRow): Promise<Fetched> {
  const client = await clientOf(deps, config);
  const { missing } = await projectFacts(deps, { config, client });
  const events = enrollmentEvents(config.enrollment_event);
  // All events that may enroll are needed to find the one that does: a record in two arms is read as by a sync.
  const asked = event.event_name ? events : [];
  const answer = await client.exportRecords({
    records: [event.record],
    ...(asked.length > 0 && { events: asked }),
    ...(readsSurveyTime(config.participant_field_mapping, event.instrument) && { surveyTimes: true }),
  });
  let primaryKey: string | undefined;
  let rows = rowsOfRecord(answer, event.record);
  // The members of a JSON object have no reliable order: only the dictionary tells which of them is the record id.
  if (rows.length === 0 && answer.length > 0) {
    primaryKey = await primaryKeyOf(client);
    rows = rowsOfRecord(answer, event.record, primaryKey);
  }
  if (rows.length === 0) {
    throw new TriggerRefused(
      'RECORD_NOT_FOUND',
      'The capture system has no such ' +
        `record${asked.length === 0 ? '' : asked.length === 1 ? ' in this event' : ' in these events'}: it was ` +
        'deleted or renamed.',
    );
  }
  const rules = { instrument: event.instrument, events };
  const own = tellsByStatus(rows, rules)
    ? []
    : ownFields(await dictionaryRows(client, { forms: [event.instrument] }), event.instrument);
  const record = recordOf(rows[0]!, primaryKey);
  const enrollment = enrollmentOf(rows, { ...rules, own });
  if (!enrollment && !hasForm(rows, event.instrument)) throw formNotExported(event.instrument);
  return { record, rows, enrollment, asked: askedFor(asked), missing };
}

const askedFor = (events: readonly string[]): string | null => (events.length === 0 ? null : events.join(','));

/**
 * @param standing the current policy, an earlier trigger with the same bytes, and whether the record has a participant
 */
async function write(
  work: WriteTransaction,
  material: Opened & Fetched,
  standing: unknown[][],
): Promise<CompletedTrigger | TriggerReport> {
  const { tx } = work;
  const { event, config, claim, record, rows, enrollment, asked, missing } = material;
  if (config.sync_status === 'error' && (await noteConnection(tx, event.study_id, null)))
    await retryForbidden(tx, event.study_id, false);
  if (!enrollment) return ignore(tx, event);
  const [[policy], [earlier], participants] = standing as [PolicyOf[], { id: string }[], unknown[]];
  const rules = {
    instrument: event.instrument,
    mapping: config.participant_field_mapping,
    policy: policy?.policy ?? null,
    missing,
    latestDay: latestDay(nowMs()),
    arm: enrollmentArm(config.known_events, enrollment.event),
    unread: unreadFields(rows, config.participant_field_mapping),
  };
  const reading = readingOf(record, enrollment.values, rules, event.data_access_group);
  const hashes = {
    content_hash: contentHashOf(rows, config.participant_field_mapping, asked),
    reading_hash: readingHashOf(reading, config.participant_field_mapping),
  };
  if (!(await storeReading(tx, event.study_id, event.record, event.id, claim, hashes))) throw recordBusy(200);

  const duplicate = duplicateOf({
    earlierEventId: earlier?.id ?? null,
    unchanged: isUnchanged(claim, hashes),
    participantExists: participants.length > 0,
  });
  // An interrupted attempt finds its own reading: that is no duplicate.
  if (duplicate && !event.participant_id) {
    await endWebhookEvent(tx, event.id, { status: 'duplicate', duplicate_of_id: duplicate });
    return { status: 'duplicate', outcome: null };
  }

  const origin = {
    study_id: event.study_id,
    form_oid: event.instrument,
    date_field: config.participant_field_mapping['enrollment_date'],
    create_missing_sites: config.create_missing_sites,
    from: { webhook_event_id: event.id },
  };
  if (participants.length === 0) await adoptSpellings(work, origin, [record]);
  const result = (await writeParticipants(work, origin, [reading])).get(record)!;
  if (result instanceof TriggerRefused) throw result;
  return decideHere(work, event, result);
}

/**
 * The decision within this transaction: for a participant that it creates, whose workflow does not run yet, and if
 * there is nothing to decide. Otherwise the participant's workflow decides, which alone changes an existing anchor.
 */
async function decideHere(
  work: WriteTransaction,
  event: WebhookEventRow,
  result: WrittenParticipant,
): Promise<CompletedTrigger | TriggerReport> {
  const { participant_id, notices, dates } = result;
  if (result.outcome === 'created') {
    const decided = (await decideBatch(work, event.study_id, new Map([[participant_id, 'always']]))).get(
      participant_id,
    )!;
    return completeTrigger(work.tx, event, { participant_id, notices, outcome: 'created', dated: dates.any }, decided);
  }
  const { needed, decided } = await wouldChange(work, participant_id);
  // An earlier attempt wrote the reading, and was interrupted before the participant's workflow answered.
  const handedOver = event.participant_id !== null && result.outcome === 'unchanged';
  const written = {
    participant_id,
    notices,
    outcome: outcomeOf(event, result, requiresOverride(dates, decided)),
    dated: dates.any || handedOver,
  };
  return needed ? handOver(work.tx, event, written) : completeTrigger(work.tx, event, written, decided);
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
