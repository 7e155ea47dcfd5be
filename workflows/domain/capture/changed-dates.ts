import { readDateItem } from '../util/dates.js';
import { isDateLike } from './dates.js';
import type { RecordValues } from './record.js';

/** Of the dates that a reading found, those that differ from what was known. */
export interface ChangedDates {
  /** The mapped enrollment date, as it was read; null: it is as it was. */
  mapped: string | null;
  /** Whether any did: a policy may read others of the form. */
  any: boolean;
}
export const noDates: ChangedDates = { mapped: null, any: false };

/** @param changed the names of the items that differ */
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

/** What an evaluation found, as far as it tells whether a changed date was held back. */
export interface ExistingDates {
  result: string;
  final: { date: string; zone: string } | null;
}

/**
 * Whether a reading brought another date for a finalized anchor, where nothing moves but by an override (decisions,
 * section 6): the mapped date is another one than the anchor's, whatever source the anchor has, or what was read makes
 * the sources give another one. A date that stood there before asks for nothing again.
 */
export function requiresOverride(dates: ChangedDates, { result, final }: ExistingDates): boolean {
  if (!dates.any) return false;
  if (result === 'override_required') return true;
  if (final === null || dates.mapped === null) return false;
  const read = readDateItem(dates.mapped, final.zone, 'reject');
  return read !== null && read.date !== final.date;
}
