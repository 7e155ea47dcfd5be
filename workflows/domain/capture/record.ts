/** One row of a flat record export; a capture system gives numbers here and there, all else is text. */
export type ExportRow = Record<string, unknown>;
/** A record's values by field name; only what is there and not empty. */
export type RecordValues = Record<string, string>;

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/**
 * The rows that belong to the record. The primary key is the first field of the dictionary, whatever its name, and as a
 * rule the first column of an export; rows of other records (a filter that was ignored) are left out.
 * @param primaryKey where the dictionary was asked
 */
export function rowsOfRecord(rows: readonly ExportRow[], record: string, primaryKey?: string): ExportRow[] {
  return rows.filter((row) => {
    const key = primaryKey ?? Object.keys(row)[0];
    return key !== undefined && Object.hasOwn(row, key) && text(row[key]) === record;
  });
}
