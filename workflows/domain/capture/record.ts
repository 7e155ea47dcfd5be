/** One row of a flat record export; a capture system gives numbers here and there, all else is text. */
export type ExportRow = Record<string, unknown>;
/** A record's values by field name; only what is there and not empty. */
export type RecordValues = Record<string, string>;

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** Whether two names are of one record: a capture system does not tell upper case from lower. */
export const sameRecord = (a: string, b: string): boolean => a !== '' && a.toLowerCase() === b.toLowerCase();

/**
 * The rows that belong to the record. The primary key is the first field of the dictionary, whatever its name, and as a
 * rule the first column of an export; rows of other records (a filter that was ignored) are left out.
 * @param primaryKey where the dictionary was asked
 */
export function rowsOfRecord(rows: readonly ExportRow[], record: string, primaryKey?: string): ExportRow[] {
  const exact = rows.filter((row) => recordOf(row, primaryKey) === record);
  return exact.length > 0 ? exact : rows.filter((row) => sameRecord(recordOf(row, primaryKey), record));
}

/** The record that a row names; empty where it names none. */
export function recordOf(row: ExportRow, primaryKey?: string): string {
  const key = primaryKey ?? Object.keys(row)[0];
  return key !== undefined && Object.hasOwn(row, key) ? text(row[key]) : '';
}
