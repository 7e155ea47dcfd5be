import { factItems, mapParticipant, participantFields } from './participant.js';
import type { BoxCodes, MappedParticipant, ParticipantField } from './participant.js';
import type { ExportRow, RecordValues } from './record.js';

/** A capture-system record's data about its participant, from a trigger, a sync or a poll. */
export interface Reading {
  record: string;
  form_complete: boolean;
  mapped: MappedParticipant;
  /** The record's data access group, by its unique name. */
  group: string | null;
  items: RecordValues;
  /** The arm of the event in which the record is enrolled; missing if the project has one arm only. */
  datacapture_arm?: number;
  /** Mapped fields that the export lacks; missing if it has all. */
  unread?: UnreadField[];
}

export interface ReadingRules {
  /** The enrollment instrument. */
  instrument: string;
  /** participant_field_mapping */
  mapping: Record<string, string>;
  /** The study's enrollment policy, as stored: it names items that become facts. */
  policy: unknown;
  missing: ReadonlySet<string>;
  /** A date of birth after this day is in the future. */
  latestDay?: string;
  /** Missing: a ticked box is known by its column only. */
  boxes?: BoxCodes | undefined;
  /** As `Reading.datacapture_arm`. */
  arm?: number | undefined;
  /** As `Reading.unread`. */
  unread?: UnreadField[];
}

/** Reads an enrolled record (`enrollmentOf`). `group` is used if the export lacks the data access group. */
export function readingOf(
  record: string,
  values: RecordValues,
  rules: ReadingRules,
  group: string | null = null,
): Reading {
  const { instrument, mapping, policy, missing, latestDay, boxes, arm, unread = [] } = rules;
  const items = factItems(values, { mapping, enrollmentInstrument: instrument, policy }, missing, boxes);
  const mapped = mapParticipant(values, mapping, missing, latestDay, boxes);
  const field = mapping['enrollment_date'];
  // The policy may read a month or a year.
  const isRead = (name: ParticipantField) =>
    name === 'enrollment_date' &&
    field !== undefined &&
    Object.hasOwn(items, field) &&
    readsPartialDates(policy, instrument, field);
  return {
    record,
    form_complete: values[`${instrument}_complete`] === '2',
    mapped: { ...mapped, dropped: mapped.dropped.filter((name) => !isRead(name)) },
    group: values['redcap_data_access_group'] ?? group,
    items,
    ...(arm !== undefined && { datacapture_arm: arm }),
    ...(unread.length > 0 && { unread }),
  };
}

/** Whether an active source of the policy takes the form's item in a precision of less than a day. */
function readsPartialDates(policy: unknown, form: string, item: string): boolean {
  const { sources } = (policy ?? {}) as { sources?: unknown };
  return (Array.isArray(sources) ? (sources as PolicySource[]) : []).some(
    ({ is_active, form_mapping: mapping }) =>
      is_active !== false &&
      mapping?.form_oid === form &&
      mapping.item_oid === item &&
      (mapping.partial_date_handling ?? 'reject') !== 'reject',
  );
}

interface PolicySource {
  is_active?: boolean;
  form_mapping?: { form_oid?: string; item_oid?: string; partial_date_handling?: string } | null;
}

/** A mapped field that an export lacks, although the capture system exports empty fields. */
export interface UnreadField {
  name: ParticipantField;
  /** In the capture system. */
  field: string;
}

/** The mapped fields that no row of an export has. A checkbox is exported as its boxes. */
export function absentFields(rows: readonly ExportRow[], mapping: Record<string, string>): UnreadField[] {
  const columns = new Set(rows.flatMap((row) => Object.keys(row)));
  const boxes = new Set([...columns].flatMap((column) => (column.includes('___') ? column.split('___', 1) : [])));
  return participantFields.flatMap((name) => {
    const field = Object.hasOwn(mapping, name) ? mapping[name]! : undefined;
    if (field === undefined || columns.has(field) || boxes.has(field)) return [];
    // Columns of the system's own are there for records that have a value.
    return field.startsWith('redcap_') ? [] : [{ name, field }];
  });
}

/** A field of the dictionary, and whether it identifies people. */
export interface FieldExport {
  field_name: string;
  identifier: boolean;
}

/**
 * The absent fields of which more is known than that they are empty: they were renamed or deleted (the dictionary does
 * not have them), or identify people, which the token's user may not export.
 * @param withheld more fields that are not exported (`withheldFields`)
 */
export function unreadFields(
  absent: readonly UnreadField[],
  dictionary: readonly FieldExport[],
  withheld: readonly string[] = [],
): UnreadField[] {
  const identifier = new Map(dictionary.map((field) => [field.field_name, field.identifier]));
  return absent.filter(
    ({ field }) =>
      withheld.includes(field) || (identifier.get(field.split('___', 1)[0]!) ?? identifier.get(field) ?? true),
  );
}

/**
 * Dates and free texts that are not exported, although no field of them is marked: who may only export without what
 * could identify people gets none of them, of whatever record. An export without any empty column tells nothing: it may
 * leave out empty ones.
 * @param free the dates and free texts of the exported forms
 */
export function withheldFields(rows: readonly ExportRow[], free: readonly string[]): readonly string[] {
  const hasEmptyColumns = rows.some((row) => Object.values(row).includes(''));
  const hasFree = rows.some((row) => free.some((field) => Object.hasOwn(row, field)));
  return free.length > 1 && hasEmptyColumns && !hasFree ? free : [];
}

/**
 * Without them nobody is enrolled: the schedule would begin today, or the participant have a code that is not its own.
 */
const NEEDED: readonly ParticipantField[] = ['enrollment_date', 'participant_code'];

/** The first of these fields without which nobody is enrolled. */
export const neededField = (unread: readonly UnreadField[]): UnreadField | undefined =>
  unread.find(({ name }) => NEEDED.includes(name));

export const unreadWords = ({ name, field }: UnreadField): string =>
  `The capture system gave no field "${field}" for ${name}: it was renamed or deleted there, or the token may not ` +
  'export it. Correct participant_field_mapping or the token.';
