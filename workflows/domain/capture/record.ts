/** One row of a flat record export; a capture system gives numbers here and there, all else is text. */
export type ExportRow = Record<string, unknown>;
/** A record's values by field name; only what is there and not empty. */
export type RecordValues = Record<string, string>;

export interface RowChoice {
  instrument: string;
  /** The trigger's event, else the configured enrollment event. */
  event?: string | null;
  /** The trigger's repeat instance; without one the highest counts. */
  repeatInstance?: string | null;
}

const EVENT = 'redcap_event_name',
  REPEAT_FORM = 'redcap_repeat_instrument',
  REPEAT_INSTANCE = 'redcap_repeat_instance';

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

/**
 * One set of values from the rows of a record: of the event where there is a choice, the repeating instance of the
 * instrument laid over what does not repeat. An empty value never covers one that is there.
 */
export function recordValues(rows: readonly ExportRow[], choice: RowChoice): RecordValues {
  const inEvent = choice.event
    ? rows.filter((row) => text(row[EVENT]) === '' || text(row[EVENT]) === choice.event)
    : [];
  const chosen = inEvent.length > 0 ? inEvent : rows;
  const values: RecordValues = {};
  // Single rows first, the first of them wins: the event that comes earliest is where somebody is enrolled.
  for (const row of chosen.filter((r) => text(r[REPEAT_INSTANCE]) === '')) addMissing(values, row);
  const repeated = repeatedRow(chosen, choice);
  if (repeated) Object.assign(values, filled(repeated));
  return values;
}

/** The instance of a repeating form, or of a repeating event, that the trigger speaks of. */
function repeatedRow(rows: readonly ExportRow[], choice: RowChoice): ExportRow | undefined {
  const instances = rows.filter(
    (row) =>
      text(row[REPEAT_INSTANCE]) !== '' &&
      (text(row[REPEAT_FORM]) === '' || text(row[REPEAT_FORM]) === choice.instrument),
  );
  if (choice.repeatInstance) return instances.find((row) => text(row[REPEAT_INSTANCE]) === choice.repeatInstance);
  return instances.reduce<ExportRow | undefined>(
    (last, row) => (last && Number(last[REPEAT_INSTANCE]) >= Number(row[REPEAT_INSTANCE]) ? last : row),
    undefined,
  );
}

function addMissing(values: RecordValues, row: ExportRow): void {
  for (const [field, value] of Object.entries(filled(row))) {
    if (!Object.hasOwn(values, field)) values[field] = value;
  }
}

const filled = (row: ExportRow): RecordValues =>
  Object.fromEntries(
    Object.entries(row)
      .map(([field, value]) => [field, text(value).trim()] as const)
      .filter(([, value]) => value !== ''),
  );
