import { enrollmentOf, hasForm, ownFields, tellsByStatus } from '../../../workflows/domain/capture/enrollment.js';
import { namedItems, unclearBoxes } from '../../../workflows/domain/capture/participant.js';
import type { BoxCodes } from '../../../workflows/domain/capture/participant.js';
import { currentPolicy } from '../../../db/capture/captured-participants.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { readInScope } from '../../../db/client/transaction.js';
import type { Enrollment } from '../../../workflows/domain/capture/enrollment.js';
import { absentFields, unreadFields, withheldFields } from '../../../workflows/domain/capture/reading.js';
import type { UnreadField } from '../../../workflows/domain/capture/reading.js';
import { readsSurveyTime, recordOf, rowsOfRecord } from '../../../workflows/domain/capture/record.js';
import type { ExportRow } from '../../../workflows/domain/capture/record.js';
import type { CaptureClient } from '../client/client.js';
import { clientOf } from '../client/connection.js';
import { boxCodesOf, dictionaryRows, primaryKeyOf } from '../client/dictionary.js';
import { CaptureFailure, formNotExported, TriggerRefused } from '../client/failure.js';
import { readingFacts } from '../client/project-facts.js';
import type { CaptureDeps } from '../deps.js';
import { dictionaryOf } from '../push/dictionary.js';
import type { OpenTrigger } from './open-trigger.js';

/** A record as the capture system has it. */
export interface ReadRecord {
  /** The record's name in the capture system: a trigger may write it in other case. */
  record: string;
  rows: ExportRow[];
  /** null: the record is not enrolled. */
  enrollment: Enrollment | null;
  /** The only requested events. */
  asked: string | null;
  missing: ReadonlySet<string>;
  unread: UnreadField[];
  /** The codes of checkbox fields whose ticked boxes do not tell them. */
  boxes: BoxCodes;
}

const REFUSED = 400;

/**
 * Reads a trigger’s record from the capture system.
 * @throws TriggerRefused RECORD_NOT_FOUND, INSTRUMENT_NOT_EXPORTED
 */
export async function readRecord(deps: CaptureDeps, { event, config, rules }: OpenTrigger): Promise<ReadRecord> {
  const client = await clientOf(deps, config);
  const { missing } = await readingFacts(deps, { config, client });
  // All events that may enroll are needed to find the one that does: a record in two arms is read as by a sync.
  const asked = event.event_name ? rules.events : [];
  const exported = (events: readonly string[]) =>
    client.exportRecords({
      records: [event.record],
      ...(events.length > 0 && { events }),
      ...(readsSurveyTime(config.participant_field_mapping, event.instrument) && { surveyTimes: true }),
    });
  const answer = await exported(asked).catch((failure: unknown) => {
    // One of them was deleted there, which is not known yet.
    if (asked.length > 1 && failure instanceof CaptureFailure && failure.status === REFUSED) return exported([]);
    throw failure;
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
        'deleted or renamed, or the token may not see it.',
    );
  }
  const record = recordOf(rows[0]!, primaryKey);
  const own = tellsByStatus(rows, rules)
    ? []
    : await formFields(client, config, event.instrument, primaryKey ?? firstOf(rows));
  const enrollment = enrollmentOf(rows, { ...rules, own });
  if (!enrollment && !hasForm(rows, event.instrument)) throw formNotExported(event.instrument);
  return {
    record,
    rows,
    enrollment,
    asked: asked.length === 0 ? null : asked.join(','),
    missing,
    boxes: await boxesOf(deps, client, config, enrollment),
    unread: await unreadOf(client, event.instrument, rows, absentFields(rows, config.participant_field_mapping)),
  };
}

const firstOf = ([row]: readonly ExportRow[]): string => Object.keys(row!)[0] ?? '';

/**
 * The fields of the enrollment form with values of their own. Where the dictionary is refused or empty these are the
 * mapped ones, without the record id and the columns that each form has.
 */
async function formFields(
  client: CaptureClient,
  { participant_field_mapping: mapping }: DatacaptureConfigRow,
  instrument: string,
  primaryKey: string,
): Promise<string[]> {
  const dictionary = await dictionaryRows(client, { forms: [instrument] }).catch((failure: unknown) => {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected' && !failure.forbidden) return [];
    throw failure;
  });
  if (dictionary.length > 0) return ownFields(dictionary, instrument);
  return Object.values(mapping).filter((field) => field !== primaryKey && !field.startsWith('redcap_'));
}

/**
 * Of the fields that a sync reads, too: those of the enrollment form, and those that the mapping or the policy names.
 * The dictionary is kept for ten minutes: not each trigger asks for it.
 */
async function boxesOf(
  { database }: CaptureDeps,
  client: CaptureClient,
  {
    study_id,
    api_url,
    api_token_encrypted,
    enrollment_instrument: instrument,
    participant_field_mapping,
  }: DatacaptureConfigRow,
  enrollment: Enrollment | null,
): Promise<BoxCodes> {
  const unclear = enrollment ? unclearBoxes(enrollment.values) : [];
  if (unclear.length === 0) return {};
  const used = new Set(Object.values(participant_field_mapping));
  if (unclear.some((field) => !used.has(field))) {
    const { policy } = await readInScope(database, study_id, (tx) => currentPolicy(tx, study_id));
    for (const item of namedItems(policy, instrument ?? '')) used.add(item);
  }
  const fields = unclear.filter((field) => used.has(field)).sort();
  const need = { forms: [instrument ?? ''], fields };
  const connection = `boxes\0${api_url}\0${api_token_encrypted}`;
  const dictionary = await dictionaryOf(client, connection, need, () => Promise.resolve());
  // The name of the column would be taken for the code.
  if (dictionary.fields.length === 0 && dictionary.unread?.retryable) throw dictionary.unread;
  return boxCodesOf(dictionary.fields);
}

/** The dictionary tells which of the absent fields are only empty; without it all of them count as empty. */
async function unreadOf(
  client: CaptureClient,
  instrument: string,
  rows: readonly ExportRow[],
  absent: UnreadField[],
): Promise<UnreadField[]> {
  if (absent.length === 0) return [];
  const fields = absent.map(({ field }) => field);
  try {
    const dictionary = await dictionaryRows(client, { forms: [instrument], fields });
    const free = dictionary.filter((field) => field.free).map(({ field_name }) => field_name);
    return unreadFields(absent, dictionary, withheldFields(rows, free));
  } catch (failure) {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected') return [];
    throw failure;
  }
}
