import type { StudyDocument } from '../../../db/exports/full-study/document.js';
import { problem } from '../../http/errors.js';

const DAYS = ['window_open', 'target_date', 'window_close'] as const;
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * A visit, and each of its former states, has its target within its window, as by the API; the database compares only
 * those of the visit. Times of sessions have no order: a device whose clock was set back reports an end before the
 * start, and is believed.
 * @throws 400 OUTSIDE_WINDOW
 */
export function requireOrderOfDays({ tables }: StudyDocument): void {
  for (const table of ['scheduled_visits', 'visit_states'])
    for (const [i, row] of (tables[table] ?? []).entries()) {
      const days = DAYS.map((name) => row[name]).filter((day): day is string => typeof day === 'string');
      // Other notations of a date are the database's to read.
      if (days.some((day) => !DAY.test(day)) || days.every((day, n) => n === 0 || days[n - 1]! <= day)) continue;
      const path = `tables.${table}.${i}.target_date`;
      const message = `${path} must lie between window_open and window_close`;
      throw problem('RULE_VIOLATED', { detail: `${message}.`, errors: [{ path, code: 'OUTSIDE_WINDOW', message }] });
    }
}
