import { readDateItem } from '../util/dates.js';
import { isDateLike } from './dates.js';
import type { RecordValues } from './record.js';

/** The dates of a reading that differ from the known ones. */
export interface ChangedDates {
  /** The mapped enrollment date, as read; null: unchanged. */
  mapped: string | null;
  /** Whether any date changed: a policy may read others of the form. */
  any: boolean;
}
export const noDates: ChangedDates = { mapped: null, any: false };

/** @param changed the names of the changed items */
export function changedDates(
  items: RecordValues,
  changed: readonly string[],
  dateField: string | undefined,
): ChangedDates {
  const dates = changed.filter((name) => items[name] !== undefined && isDateLike(items[name]));
  return {
    mapped: dateField !== undefined && dates.includes(dateField) ? items[dateField]! : null,
    any: dates.length > 0,
  };
}

/** The result of an evaluation, as far as it shows whether a changed date was held back. */
export interface ExistingDates {
  result: string;
  final: { date: string; zone: string } | null;
}

/**
 * Whether a reading brought another date for a finalized anchor that only an override moves: the mapped date differs
 * from the anchor's, whatever the anchor's source, or the reading makes the sources give another one. A date that was
 * there before needs no further override.
 */
export function requiresOverride(dates: ChangedDates, { result, final }: ExistingDates): boolean {
  if (!dates.any) return false;
  if (result === 'override_required') return true;
  if (final === null || dates.mapped === null) return false;
  const read = readDateItem(dates.mapped, final.zone, 'reject');
  return read !== null && read.date !== final.date;
}

/** Why the anchor did not take the date of a record, which is processed nevertheless; null: nothing was refused. */
export const dateRefused = (answer: { result: string; errors: readonly { code: string }[] }): string | null =>
  answer.result === 'validation_failed'
    ? `The enrollment date was not taken: ${answer.errors.map((fault) => fault.code).join(', ')}.`
    : null;
