import type { ExportRow, RecordValues } from './record.js';

/** What a study reads an enrollment by. Trigger, poll, sync and push all ask `enrollmentOf` with these rules. */
export interface EnrollmentRules {
  /** The enrollment form. */
  instrument: string;
  /** The events whose form enrolls, at most one for each arm. None: any event, of which the earliest counts. */
  events: readonly string[];
  /** The form's own fields (`ownFields`). */
  own: readonly string[];
}

/** Where a record's enrollment form stands, and what the record says there. */
export interface Enrollment {
  /** The event of the form; empty in a classic project. */
  event: string;
  values: RecordValues;
}

const EVENT = 'redcap_event_name',
  REPEAT_FORM = 'redcap_repeat_instrument',
  REPEAT_INSTANCE = 'redcap_repeat_instance';

const text = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
const eventOf = (row: ExportRow): string => text(row[EVENT]);

/** The events that `enrollment_event` names. */
export const enrollmentEvents = (setting: string | null): readonly string[] =>
  (setting ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Whether a trigger may tell of an enrollment: it is of the enrollment form, in an event that enrolls. */
export function concernsEnrollment(
  trigger: { instrument: string; event_name: string | null },
  rules: { instrument: string | null; events: readonly string[] },
): boolean {
  const { instrument, event_name: event } = trigger;
  if (instrument !== rules.instrument) return false;
  return rules.events.length === 0 || !event || rules.events.includes(event);
}

/**
 * The fields of a form that hold a value of its own. The record id stands on the first form whether it was opened or
 * not; a calculated field is filled by what is entered elsewhere.
 */
export function ownFields(
  dictionary: readonly { field_name: string; form_name: string; field_type: string }[],
  instrument: string,
): string[] {
  const key = dictionary[0]?.field_name;
  return dictionary
    .filter(
      ({ field_name, form_name, field_type }) =>
        form_name === instrument && field_name !== key && field_type !== 'calc',
    )
    .map(({ field_name }) => field_name);
}

/** Whether the rows alone say whether the record is enrolled and what it says; else `own` is needed. */
export function tellsByStatus(
  rows: readonly ExportRow[],
  { instrument, events }: Omit<EnrollmentRules, 'own'>,
): boolean {
  const asked = rows.filter((row) => enrolls(row, events) && ['', instrument].includes(text(row[REPEAT_FORM])));
  return asked.length === 0 || (asked.length === 1 && isSaved(asked[0]!, instrument));
}

/**
 * Whether and how a record is enrolled: its enrollment form holds a value of its own or its status is above 0, in an
 * event that enrolls; of several events the earliest, of a repeating form or event the first instance. Null: it is
 * not. Fields of other forms are taken from the same event where the rules name events, else from any.
 */
export function enrollmentOf(rows: readonly ExportRow[], rules: EnrollmentRules): Enrollment | null {
  const asked = rows.filter((row) => enrolls(row, rules.events));
  for (const event of new Set(asked.map(eventOf))) {
    const here = asked.filter((row) => eventOf(row) === event);
    const single = here.filter((row) => text(row[REPEAT_INSTANCE]) === '');
    const first = firstInstance(here, rules);
    if (!first && !single.some((row) => isFilled(row, rules))) continue;
    const values: RecordValues = {};
    for (const row of single) addMissing(values, row);
    if (first) Object.assign(values, filled(first));
    if (rules.events.length === 0) for (const row of rows) addElsewhere(values, row, rules);
    return { event, values };
  }
  return null;
}

const enrolls = (row: ExportRow, events: readonly string[]): boolean =>
  events.length === 0 || eventOf(row) === '' || events.includes(eventOf(row));

/** Saved as unverified or complete. */
const isSaved = (row: ExportRow, instrument: string): boolean =>
  ['1', '2'].includes(text(row[`${instrument}_complete`]));

function isFilled(row: ExportRow, { instrument, own }: EnrollmentRules): boolean {
  return isSaved(row, instrument) || Object.keys(row).some((column) => isOf(column, own) && holds(row, column));
}

/** Of a checkbox only a tick is a value: each box that is not ticked is exported as 0. */
const holds = (row: ExportRow, column: string): boolean =>
  column.includes('___') ? text(row[column]) === '1' : text(row[column]) !== '';

/** Whether a column holds one of the fields; a checkbox has a column for each box. */
const isOf = (column: string, fields: readonly string[]): boolean =>
  fields.includes(column) || (column.includes('___') && fields.includes(column.split('___', 1)[0]!));

/** The lowest instance, of the repeating form or of a repeating event, that is filled. */
function firstInstance(rows: readonly ExportRow[], rules: EnrollmentRules): ExportRow | undefined {
  return rows
    .filter(
      (row) =>
        text(row[REPEAT_INSTANCE]) !== '' &&
        ['', rules.instrument].includes(text(row[REPEAT_FORM])) &&
        isFilled(row, rules),
    )
    .sort((a, b) => Number(a[REPEAT_INSTANCE]) - Number(b[REPEAT_INSTANCE]))[0];
}

function addMissing(values: RecordValues, row: ExportRow): void {
  for (const [field, value] of Object.entries(filled(row))) if (!Object.hasOwn(values, field)) values[field] = value;
}

/** What other forms say in other events; nothing of the enrollment form, which is read where it stands. */
function addElsewhere(values: RecordValues, row: ExportRow, { instrument, own }: EnrollmentRules): void {
  if (text(row[REPEAT_INSTANCE]) !== '') return;
  for (const [field, value] of Object.entries(filled(row))) {
    const itsOwn = field === `${instrument}_complete` || isOf(field, own);
    if (!itsOwn && !Object.hasOwn(values, field)) values[field] = value;
  }
}

const filled = (row: ExportRow): RecordValues =>
  Object.fromEntries(
    Object.entries(row)
      .map(([field, value]) => [field, text(value)] as const)
      .filter(([, value]) => value !== ''),
  );
