import { lockByName } from '../client/advisory-lock.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

export interface HolidayCalendarRecord {
  id: string;
  study_id: string;
  site_id: string | null;
  name: string;
  is_default: boolean;
  weekend_days: number[];
  holidays: { date: string; name: string | null }[];
  created_at: string;
  updated_at: string;
}
export type HolidayCalendarFields = Partial<
  Omit<HolidayCalendarRecord, 'id' | 'study_id' | 'created_at' | 'updated_at'>
>;

const COLUMNS = 'id, study_id, site_id, name, is_default, weekend_days, holidays, created_at, updated_at';

export function listCalendars(tx: Tx, studyId: string, paging: Page): Promise<Listed<HolidayCalendarRecord>> {
  return page(
    tx,
    tx('holiday_calendars').where({ study_id: studyId }),
    COLUMNS,
    paging,
    { name: 'name', created_at: 'created_at' },
    'id',
  );
}

export async function calendarById(tx: Tx, id: string, lock = false): Promise<HolidayCalendarRecord | undefined> {
  const found = tx('holiday_calendars').where({ id });
  if (lock) void found.forUpdate();
  return found.first(tx.raw(COLUMNS)) as Promise<HolidayCalendarRecord | undefined>;
}

/** Changes of which calendar is the study's default run one after another. */
export const lockDefault = (tx: Tx, studyId: string): Promise<void> => lockByName(tx, `default calendar ${studyId}`);

export async function studyHasCalendar(tx: Tx, studyId: string): Promise<boolean> {
  return (await tx('holiday_calendars').where({ study_id: studyId, site_id: null }).first('id')) !== undefined;
}

/** Removes the default mark from its calendar, before another one gets it; returns which that was. */
export async function clearDefault(tx: Tx, studyId: string): Promise<string | undefined> {
  const [row] = await tx('holiday_calendars')
    .where({ study_id: studyId, is_default: true })
    .update({ is_default: false })
    .returning('id');
  return row?.id;
}

export async function insertCalendar(tx: Tx, studyId: string, fields: HolidayCalendarFields): Promise<string> {
  const [row] = await tx('holiday_calendars')
    .insert({ study_id: studyId, ...columnsOf(fields) })
    .returning('id');
  return row.id;
}

export async function updateCalendar(tx: Tx, id: string, fields: HolidayCalendarFields): Promise<void> {
  if (Object.keys(fields).length > 0) await tx('holiday_calendars').where({ id }).update(columnsOf(fields));
}

export async function deleteCalendar(tx: Tx, id: string): Promise<void> {
  await tx('holiday_calendars').where({ id }).delete();
}

/** Whether the site belongs to the study. */
export async function siteIsOf(tx: Tx, siteId: string, studyId: string): Promise<boolean> {
  return (await tx('sites').where({ id: siteId, study_id: studyId }).first('id')) !== undefined;
}

// An array would be sent as a PostgreSQL array: these columns are JSON.
const columnsOf = ({ weekend_days, holidays, ...fields }: HolidayCalendarFields): Record<string, unknown> => ({
  ...fields,
  ...(weekend_days && { weekend_days: JSON.stringify(weekend_days) }),
  ...(holidays && { holidays: JSON.stringify(holidays) }),
});
