/** One row of a flat record export; some values are numbers, all others text. */
export type ExportRow = Record<string, unknown>;
/** A record's non-empty values by field name. */
export type RecordValues = Record<string, string>;

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** What the names of a record in all cases have in common: a capture system ignores case. */
export const recordKey = (record: string): string => record.normalize('NFC').toLowerCase();

/** Whether two names mean the same record. */
export const sameRecord = (a: string, b: string): boolean => a !== '' && recordKey(a) === recordKey(b);

/**
 * The rows of the record. The primary key is the first field of the dictionary, whatever its name, and usually the
 * first column of an export; rows of other records (a filter that was ignored) are dropped.
 * @param primaryKey if the dictionary was read
 */
export function rowsOfRecord(rows: readonly ExportRow[], record: string, primaryKey?: string): ExportRow[] {
  const exact = rows.filter((row) => recordOf(row, primaryKey) === record);
  return exact.length > 0 ? exact : rows.filter((row) => sameRecord(recordOf(row, primaryKey), record));
}

/** The record of a row; empty: none. */
export function recordOf(row: ExportRow, primaryKey?: string): string {
  const key = primaryKey ?? Object.keys(row)[0];
  return key !== undefined && Object.hasOwn(row, key) ? text(row[key]) : '';
}

/** The time at which a form was completed as a survey: a column that no dictionary lists, exported on request. */
export const surveyTime = (instrument: string): string => `${instrument}_timestamp`;

/** The export of a survey that was begun and not completed. */
export const NOT_COMPLETED = '[not completed]';

/** Whether a mapping reads the time of the enrollment form's survey. */
export const readsSurveyTime = (mapping: Readonly<Record<string, string>>, instrument: string | null): boolean =>
  instrument !== null && Object.values(mapping).includes(surveyTime(instrument));
