import { isComputed } from './choices.js';
import { surveyTime } from './record.js';
import type { ExportRow, RecordValues } from './record.js';

/** A study's rules for reading an enrollment. Trigger, poll, sync and push all call `enrollmentOf` with them. */
export interface EnrollmentRules {
  /** The enrollment form. */
  instrument: string;
  /** The events whose form enrolls, at most one for each arm. None: any event, of which the earliest counts. */
  events: readonly string[];
  /** The form's own fields (`ownFields`). */
  own: readonly string[];
}

/** The place of a record's enrollment form, and the record's values there. */
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

/** The events named in `enrollment_event`. */
export const enrollmentEvents = (setting: string | null): readonly string[] =>
  (setting ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Whether a trigger may concern an enrollment: it is about the enrollment form, in an event that enrolls. */
export function concernsEnrollment(
  trigger: { instrument: string; event_name: string | null },
  rules: { instrument: string | null; events: readonly string[] },
): boolean {
  const { instrument, event_name: event } = trigger;
  if (instrument !== rules.instrument) return false;
  return rules.events.length === 0 || !event || rules.events.includes(event);
}

/**
 * The fields of a form with values of their own. The record id is on the first form even if that was never opened; a
 * computed field depends on other entries.
 */
export function ownFields(
  dictionary: readonly { field_name: string; form_name: string; field_type: string; annotation?: string }[],
  instrument: string,
): string[] {
  const key = dictionary[0]?.field_name;
  return dictionary
    .filter((field) => field.form_name === instrument && field.field_name !== key && !isComputed(field))
    .map(({ field_name }) => field_name);
}

/** Whether the rows alone show if the record is enrolled, with its values; else `own` is needed. */
export function tellsByStatus(
  rows: readonly ExportRow[],
  { instrument, events }: Omit<EnrollmentRules, 'own'>,
): boolean {
  const asked = rows.filter((row) => enrolls(row, events) && ['', instrument].includes(text(row[REPEAT_FORM])));
  return asked.length === 0 || (asked.length === 1 && isSaved(asked[0]!, instrument));
}

/**
 * Whether and how a record is enrolled: its enrollment form has a value of its own or a status above 0, in an event
 * that enrolls; of several events the earliest, of a repeating form or event the first instance. Null: it is not.
 * Fields of other forms come from the same event if the rules name events, else from any.
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

/** Whether an export has the form at all: not all users of a capture system may export every form. */
export const hasForm = (rows: readonly ExportRow[], instrument: string): boolean =>
  rows.some((row) => Object.hasOwn(row, `${instrument}_complete`));

const enrolls = (row: ExportRow, events: readonly string[]): boolean =>
  events.length === 0 || eventOf(row) === '' || events.includes(eventOf(row));

/** Saved as unverified or complete. */
const isSaved = (row: ExportRow, instrument: string): boolean =>
  ['1', '2'].includes(text(row[`${instrument}_complete`]));

function isFilled(row: ExportRow, { instrument, own }: EnrollmentRules): boolean {
  return isSaved(row, instrument) || Object.keys(row).some((column) => isOf(column, own) && holds(row, column));
}

/** For a checkbox only a ticked box is a value: each box that is not ticked is exported as 0. */
const holds = (row: ExportRow, column: string): boolean =>
  column.includes('___') ? text(row[column]) === '1' : text(row[column]) !== '';

/** Whether a column belongs to one of the fields; a checkbox has a column for each box. */
const isOf = (column: string, fields: readonly string[]): boolean =>
  fields.includes(column) || (column.includes('___') && fields.includes(column.split('___', 1)[0]!));

/** The lowest filled instance of the repeating form or event. */
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

/** Adds values of other forms in other events; the enrollment form is only read in its place. */
function addElsewhere(values: RecordValues, row: ExportRow, { instrument, own }: EnrollmentRules): void {
  if (text(row[REPEAT_INSTANCE]) !== '') return;
  for (const [field, value] of Object.entries(filled(row))) {
    const itsOwn = field === `${instrument}_complete` || field === surveyTime(instrument) || isOf(field, own);
    if (!itsOwn && !Object.hasOwn(values, field)) values[field] = value;
  }
}

const filled = (row: ExportRow): RecordValues =>
  Object.fromEntries(
    Object.entries(row)
      .map(([field, value]) => [field, text(value)] as const)
      .filter(([, value]) => value !== ''),
  );
