import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { enrollmentEvents, ownFields } from '../../../workflows/domain/capture/enrollment.js';
import type { EnrollmentRules } from '../../../workflows/domain/capture/enrollment.js';
import { participantFields, policyItems } from '../../../workflows/domain/capture/participant.js';
import type { ExportRow } from '../../../workflows/domain/capture/record.js';
import type { CaptureClient } from './client.js';
import { dictionaryRows } from './connection.js';
import { CaptureFailure } from './failure.js';

/** What a reading asks for: no more than the service takes, since a project may have thousands of fields. */
export interface ExportPlan {
  /** The first field of the dictionary. */
  primary_key: string;
  instrument: string;
  /** The configured enrollment_event; null: every event, or a classic project. */
  event: string | null;
  /** Fields beside those of the instrument. */
  fields: string[];
  /** The instrument's own fields. */
  own: string[];
}

/** The rules by which the records of an export are enrolled. A plan of an older worker has the record id among its own. */
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

/** @throws CaptureFailure `configuration` where no such instrument is known */
export async function planExport(
  client: CaptureClient,
  config: DatacaptureConfigRow,
  policy: unknown,
  classic: boolean,
): Promise<ExportPlan> {
  const instrument = config.enrollment_instrument;
  if (instrument === null)
    throw new CaptureFailure('configuration', 'The configuration names no enrollment_instrument.');
  const named = [
    ...participantFields.map((name) => config.participant_field_mapping[name]),
    ...policyItems(policy, instrument),
    // A checkbox is asked for by its field, and answered by its boxes.
  ].flatMap((name) => name?.split('___', 1)[0] ?? []);
  const dictionary = await dictionaryRows(client, { forms: [instrument], fields: named });
  const primaryKey = dictionary[0]?.field_name;
  if (primaryKey === undefined || primaryKey === '')
    throw new CaptureFailure('invalid_response', 'The capture system has an empty dictionary.');
  if (!dictionary.some(({ form_name }) => form_name === instrument))
    throw new CaptureFailure('configuration', `The capture system has no instrument "${instrument}" with fields.`);
  const wanted = new Set(named);
  const elsewhere = dictionary.filter(({ form_name }) => form_name !== instrument);
  const fields = [
    ...elsewhere.map(({ field_name }) => field_name),
    ...elsewhere.map(({ form_name }) => `${form_name}_complete`),
  ].filter((field) => wanted.has(field));
  return {
    primary_key: primaryKey,
    instrument,
    // A classic project refuses the question for one.
    event: classic ? null : config.enrollment_event,
    fields: [...new Set([primaryKey, ...fields])],
    own: ownFields(dictionary, instrument),
  };
}

/**
 * The record ids that the enrollment event has, those that have changed since where that is asked; in the capture
 * system's order.
 */
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
    ...ofEvents(plan),
  });
  const byRecord = new Map<string, ExportRow[]>(records.map((record) => [record, []]));
  // A filter that was ignored brings other records: they are left out.
  for (const row of rows) byRecord.get(text(row[plan.primary_key]))?.push(row);
  return byRecord;
}

/**
 * A capture system's clock is in its own zone, which it does not say: as far as any zone is behind UTC, and what was
 * being saved meanwhile.
 */
const OVERLAP_MS = (12 * 60 + 15) * 60_000;

/**
 * `dateRangeBegin` for what has changed since an instant: server-local time without a zone. What is read twice is found
 * unchanged.
 */
export function rangeBegin(since: string): string {
  return new Date(Date.parse(since) - OVERLAP_MS).toISOString().slice(0, 19).replace('T', ' ');
}
