import { participantFields } from './participant.js';
import type { ParticipantField } from './participant.js';
import type { ExportRow } from './record.js';

/** A mapped field that an export lacks altogether: an empty one would be there. */
export interface UnreadField {
  name: ParticipantField;
  /** In the capture system. */
  field: string;
}

/**
 * The mapped fields that no row of an export has: they were renamed or deleted, or the token's user may not export
 * them. A checkbox is exported as its boxes.
 */
export function unreadFields(rows: readonly ExportRow[], mapping: Record<string, string>): UnreadField[] {
  const columns = new Set(rows.flatMap((row) => Object.keys(row)));
  const boxes = new Set([...columns].flatMap((column) => (column.includes('___') ? column.split('___', 1) : [])));
  return participantFields.flatMap((name) => {
    const field = Object.hasOwn(mapping, name) ? mapping[name]! : undefined;
    return field === undefined || columns.has(field) || boxes.has(field) ? [] : [{ name, field }];
  });
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
