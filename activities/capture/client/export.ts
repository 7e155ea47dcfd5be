import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { enrollmentEvents, ownFields } from '../../../workflows/domain/capture/enrollment.js';
import type { EnrollmentRules } from '../../../workflows/domain/capture/enrollment.js';
import { standingEvents } from '../../../workflows/domain/capture/known-events.js';
import { namedItems, participantFields, policyItems } from '../../../workflows/domain/capture/participant.js';
import type { BoxCodes } from '../../../workflows/domain/capture/participant.js';
import type { FieldExport } from '../../../workflows/domain/capture/reading.js';
import type { ExportRow } from '../../../workflows/domain/capture/record.js';
import { readsSurveyTime } from '../../../workflows/domain/capture/record.js';
import type { CaptureClient } from './client.js';
import { boxCodesOf, dictionaryRows } from './dictionary.js';
import { CaptureFailure } from './failure.js';

/** The fields of an export: only those that the service uses, since a project may have thousands. */
export interface ExportPlan {
  /** The first field of the dictionary. */
  primary_key: string;
  instrument: string;
  /** The configured enrollment_event; null: every event, or a classic project. */
  event: string | null;
  /** Fields besides those of the instrument. */
  fields: string[];
  /** The instrument's own fields. */
  own: string[];
  /** The mapped fields in the dictionary; missing in the plan of an older worker. */
  mapped?: FieldExport[];
  /** The dates and free texts among the exported fields; missing in the plan of an older worker. */
  free?: string[];
  /** The codes of the used checkbox fields; missing in the plan of an older worker. */
  boxes?: BoxCodes;
  /** With the times of surveys; missing: without. */
  survey_times?: boolean;
}

/** The rules for enrolling an export's records. A plan of an older worker has the record id among its own fields. */
export const rulesOf = ({ instrument, event, own, primary_key: key }: ExportPlan): EnrollmentRules => ({
  instrument,
  events: enrollmentEvents(event),
  own: own.filter((field) => field !== key),
});
const ofEvents = ({ event }: ExportPlan): { events?: readonly string[] } => {
  const events = enrollmentEvents(event);
  return events.length > 0 ? { events } : {};
};

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** @throws CaptureFailure `configuration` if the instrument does not exist */
export async function planExport(
  client: CaptureClient,
  config: DatacaptureConfigRow,
  policy: unknown,
  classic: boolean,
): Promise<ExportPlan> {
  const instrument = config.enrollment_instrument;
  if (instrument === null)
    throw new CaptureFailure('configuration', 'The configuration names no enrollment_instrument.');
  // A checkbox is requested by its field, and returned as its boxes.
  const base = (name: string | undefined) => name?.split('___', 1)[0] ?? [];
  const mapped = participantFields.flatMap((name) => base(config.participant_field_mapping[name]));
  const named = [...mapped, ...policyItems(policy, instrument).flatMap(base)];
  // Not each word of an expression is a field: looking for it would need the whole dictionary.
  const fields = [...mapped, ...namedItems(policy, instrument).flatMap(base)];
  const dictionary = await dictionaryRows(client, { forms: [instrument], fields });
  const primaryKey = dictionary[0]?.field_name;
  if (primaryKey === undefined || primaryKey === '')
    throw new CaptureFailure('invalid_response', 'The capture system has an empty dictionary.');
  if (!dictionary.some(({ form_name }) => form_name === instrument))
    throw new CaptureFailure('configuration', `The capture system has no instrument "${instrument}" with fields.`);
  const wanted = new Set(named);
  const elsewhere = dictionary.filter(({ form_name }) => form_name !== instrument);
  const others = [
    ...elsewhere.map(({ field_name }) => field_name),
    ...elsewhere.map(({ form_name }) => `${form_name}_complete`),
  ].filter((field) => wanted.has(field));
  return {
    primary_key: primaryKey,
    instrument,
    // A classic project refuses a request for an event.
    event: classic
      ? null
      : standingEvents(config.known_events, enrollmentEvents(config.enrollment_event)).join(',') || null,
    fields: [...new Set([primaryKey, ...others])],
    own: ownFields(dictionary, instrument),
    mapped: dictionary
      .filter(({ field_name }) => wanted.has(field_name))
      .map(({ field_name, identifier }) => ({ field_name, identifier })),
    free: dictionary
      .filter(({ free, form_name, field_name }) => free && (form_name === instrument || wanted.has(field_name)))
      .map(({ field_name }) => field_name),
    boxes: boxCodesOf(dictionary.filter(({ field_name }) => wanted.has(field_name))),
    ...(readsSurveyTime(config.participant_field_mapping, instrument) && { survey_times: true }),
  };
}

/** The record ids of the enrollment event, or only those changed since a time; in the capture system's order. */
export async function listIds(
  client: CaptureClient,
  plan: ExportPlan,
  options: { dateRangeBegin?: string; records?: readonly string[]; anyEvent?: boolean } = {},
): Promise<string[]> {
  const rows = await client.exportRecords({
    // The status of a form that repeats lists its instances, which a record may have alone.
    fields: options.anyEvent ? [plan.primary_key] : [plan.primary_key, `${plan.instrument}_complete`],
    ...(!options.anyEvent && ofEvents(plan)),
    ...(options.dateRangeBegin !== undefined && { dateRangeBegin: options.dateRangeBegin }),
    ...(options.records && { records: options.records }),
  });
  return [...new Set(rows.map((row) => text(row[plan.primary_key])))].filter((id) => id !== '');
}

/** The rows of these records, by record. */
export async function exportBatch(
  client: CaptureClient,
  plan: ExportPlan,
  records: readonly string[],
): Promise<Map<string, ExportRow[]>> {
  const rows = await client.exportRecords({
    records,
    forms: [plan.instrument],
    fields: plan.fields,
    ...(plan.survey_times && { surveyTimes: true }),
    ...ofEvents(plan),
  });
  const byRecord = new Map<string, ExportRow[]>(records.map((record) => [record, []]));
  // A filter that was ignored returns other records: they are dropped.
  for (const row of rows) byRecord.get(text(row[plan.primary_key]))?.push(row);
  return byRecord;
}

/**
 * A capture system's clock has its own unknown time zone: the overlap covers the largest offset behind UTC, and records
 * that were being saved.
 */
const OVERLAP_MS = (12 * 60 + 15) * 60_000;

/**
 * `dateRangeBegin` for changes since an instant: server-local time without a zone. A record that is read twice is found
 * unchanged.
 */
export function rangeBegin(since: string): string {
  return new Date(Date.parse(since) - OVERLAP_MS).toISOString().slice(0, 19).replace('T', ' ');
}
