import { addDays, dayOfWeek, daysBetween } from '../../util/dates.js';

export interface Holiday {
  date: string;
  name: string | null;
}

/** A holiday as given: with a name, without one, or as a date only. */
export const asHoliday = (input: string | { date: string; name?: string | null }): Holiday =>
  typeof input === 'string' ? { date: input, name: null } : { date: input.date, name: input.name ?? null };

/** A holiday calendar for scheduling. Days of the week are ISO: 1 is Monday, 7 is Sunday. */
export interface WorkingCalendar {
  id: string;
  weekend_days: readonly number[];
  holidays: readonly Holiday[];
}

/** The weekend without a calendar. */
export const commonWeekend: readonly number[] = [6, 7];

// One calendar serves a whole study: its dates are indexed once and not for each visit.
const indexed = new WeakMap<WorkingCalendar, Map<string, string | null>>();
function holidaysOf(calendar: WorkingCalendar): Map<string, string | null> {
  let found = indexed.get(calendar);
  if (!found) indexed.set(calendar, (found = new Map(calendar.holidays.map(({ date, name }) => [date, name]))));
  return found;
}

/** Why `date` is no working day; null: it is one. A holiday on a weekend is named as the holiday. */
export function dayOff(
  calendar: WorkingCalendar,
  date: string,
): { kind: 'holiday' | 'weekend'; name: string | null } | null {
  const holiday = holidaysOf(calendar).get(date);
  if (holiday !== undefined) return { kind: 'holiday', name: holiday };
  return calendar.weekend_days.includes(dayOfWeek(date)) ? { kind: 'weekend', name: null } : null;
}

/** The first working day from `date` on, no later than `last`; null: none. */
export function nextWorkingDay(calendar: WorkingCalendar, date: string, last: string): string | null {
  const days = daysBetween(date, last);
  for (let after = 0; after <= days; after += 1) {
    const day = addDays(date, after);
    if (dayOff(calendar, day) === null) return day;
  }
  return null;
}
