import type { DatacaptureConfigRow } from '../../db/queries/datacapture-configs.js';
import { policyItems } from '../../workflows/domain/capture/participant.js';
import { participantFields } from '../../workflows/domain/capture/participant.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';
import type { CaptureClient } from './client.js';
import { CaptureFailure } from './failure.js';

/** What a reading asks for: no more than the service takes, since a project may have thousands of fields. */
export interface ExportPlan {
  /** The first field of the dictionary. */
  primary_key: string;
  instrument: string;
  /** null: every event, or a classic project. */
  event: string | null;
  /** Fields beside those of the instrument. */
  fields: string[];
  /** The instrument's own fields. */
  own: string[];
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** @throws CaptureFailure `configuration` where no such instrument is known */
export async function planExport(
  client: CaptureClient,
  config: DatacaptureConfigRow,
  policy: unknown,
): Promise<ExportPlan> {
  const instrument = config.enrollment_instrument;
  if (instrument === null)
    throw new CaptureFailure('configuration', 'The configuration names no enrollment_instrument.');
  const dictionary = (await client.metadata()).map((row) => ({
    field: text(row['field_name']),
    form: text(row['form_name']),
  }));
  const primaryKey = dictionary[0]?.field;
  if (primaryKey === undefined || primaryKey === '')
    throw new CaptureFailure('invalid_response', 'The capture system has an empty dictionary.');
  const own = dictionary.filter(({ form }) => form === instrument).map(({ field }) => field);
  if (own.length === 0)
    throw new CaptureFailure('configuration', `The capture system has no instrument "${instrument}" with fields.`);
  const wanted = [
    ...participantFields.map((name) => config.participant_field_mapping[name]),
    ...policyItems(policy, instrument),
  ];
  const elsewhere = dictionary
    .map(({ field }) => field)
    .filter((field) => wanted.includes(field) && !own.includes(field));
  return {
    primary_key: primaryKey,
    instrument,
    event: config.enrollment_event,
    fields: [...new Set([primaryKey, ...elsewhere])],
    own,
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
    fields: [plan.primary_key],
    ...(plan.event !== null && !options.anyEvent && { events: [plan.event] }),
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
    ...(plan.event !== null && { events: [plan.event] }),
  });
  const byRecord = new Map<string, ExportRow[]>(records.map((record) => [record, []]));
  // A filter that was ignored brings other records: they are left out.
  for (const row of rows) byRecord.get(text(row[plan.primary_key]))?.push(row);
  return byRecord;
}

/** Whether the enrollment form was ever filled in: no trigger is sent for one that was not. */
export function isEnrolled(rows: readonly ExportRow[], plan: ExportPlan): boolean {
  const status = `${plan.instrument}_complete`;
  return rows.some(
    (row) =>
      ['1', '2'].includes(text(row[status])) ||
      plan.own.some(
        (field) =>
          text(row[field]).trim() !== '' ||
          Object.keys(row).some((key) => key.startsWith(`${field}___`) && row[key] === '1'),
      ),
  );
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
