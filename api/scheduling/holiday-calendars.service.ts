import type { Static } from 'typebox';
import { putOutbox } from '../../db/outbox/outbox.js';
import {
  calendarById,
  clearDefault,
  deleteCalendar,
  insertCalendar,
  lockDefault,
  siteIsOf,
  studyHasCalendar,
  updateCalendar,
} from '../../db/scheduling/holiday-calendars.queries.js';
import type { HolidayCalendarFields, HolidayCalendarRecord } from '../../db/scheduling/holiday-calendars.queries.js';
import { asHoliday } from '../../workflows/domain/scheduling/events/calendar.js';
import { brokenRule, problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { HolidayCalendarChange, NewHolidayCalendar } from './edc.schemas.js';
import type { RequestScope } from '../http/state.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { WithEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { Tx } from '../../db/client/database.js';

const unique = {
  holiday_calendars_study_id_name_key: 'CALENDAR_NAME_TAKEN',
  holiday_calendars_one_per_site: 'SITE_HAS_CALENDAR',
  holiday_calendars_one_default: 'CONFLICT',
} as const;

type Given = Static<typeof HolidayCalendarChange>;
/** The stored fields: every holiday in the same form. */
const fieldsOf = ({ holidays, ...fields }: Given): HolidayCalendarFields => ({
  ...fields,
  ...(holidays && { holidays: holidays.map(asHoliday) }),
});

/**
 * Adds a calendar. The study's first one becomes its default unless the request says otherwise. @throws 409
 * CALENDAR_NAME_TAKEN or SITE_HAS_CALENDAR, 400
 */
export async function createCalendar(
  change: RequestScope,
  studyId: string,
  input: Static<typeof NewHolidayCalendar>,
): Promise<HolidayCalendarRecord> {
  const { tx } = change;
  const site = input.site_id ?? null;
  await lockDefault(tx, studyId);
  const fields = {
    ...fieldsOf(input),
    is_default: input.is_default ?? (site === null && !(await studyHasCalendar(tx, studyId))),
  };
  await requireSense(tx, studyId, { ...input, is_default: fields.is_default }, null);
  const former = fields.is_default ? await clearDefault(tx, studyId) : undefined;
  const id = await mapConstraintErrors(unique, () => insertCalendar(tx, studyId, fields));
  const made = await getCalendarOrThrow(tx, id);
  await noteChange(change, made, 'holiday_calendar_created', {
    is_default: made.is_default,
    ...(former && { default_before: former }),
  });
  return made;
}

/** @throws 404, 409 CALENDAR_NAME_TAKEN, SITE_HAS_CALENDAR or STALE, 400 */
export async function changeCalendar(
  change: RequestScope,
  id: string,
  input: Given,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<WithEarlierOverrides<HolidayCalendarRecord>> {
  const { tx } = change;
  const before = await getCalendarOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  await requireSense(tx, before.study_id, input, before);
  const wanted = fieldsOf(input);
  const fields = changedFields({ ...before }, { ...wanted });
  if (fields.length === 0) return before;
  const becomesDefault = input.is_default === true && !before.is_default;
  if (becomesDefault) await lockDefault(tx, before.study_id);
  const former = becomesDefault ? await clearDefault(tx, before.study_id) : undefined;
  await mapConstraintErrors(unique, () => updateCalendar(tx, id, wanted));
  await noteChange(change, before, 'holiday_calendar_changed', { fields, ...(former && { default_before: former }) });
  return withEarlierOverrides(tx, before.study_id, await getCalendarOrThrow(tx, id));
}

/** @throws 404, 409 STALE */
export async function removeCalendar(
  change: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  const before = await getCalendarOrThrow(change.tx, id, true);
  assertIfMatch({ ...before });
  await deleteCalendar(change.tx, id);
  await noteChange(change, before, 'holiday_calendar_deleted');
}

export async function getCalendarOrThrow(tx: Tx, id: string, lock = false): Promise<HolidayCalendarRecord> {
  const calendar = await calendarById(tx, id, lock);
  if (!calendar) throw problem('NOT_FOUND', { detail: 'There is no such holiday calendar.' });
  return calendar;
}

/**
 * Rules that a schema can't express: the site belongs to the study, a site's calendar is not the study's default, no
 * date occurs twice.
 */
async function requireSense(
  tx: Tx,
  studyId: string,
  input: Given,
  before: HolidayCalendarRecord | null,
): Promise<void> {
  if (input.site_id && !(await siteIsOf(tx, input.site_id, studyId)))
    throw brokenRule('site_id', 'UNKNOWN_SITE', 'is not a site of the study');
  const site = input.site_id === undefined ? (before?.site_id ?? null) : input.site_id;
  if (site !== null && (input.is_default ?? before?.is_default))
    throw brokenRule('is_default', 'SITE_CALENDAR', 'cannot be true for the calendar of a site');
  const seen = new Set<string>();
  for (const [i, holiday] of (input.holidays ?? []).entries()) {
    const { date } = asHoliday(holiday);
    if (seen.has(date))
      throw brokenRule(
        typeof holiday === 'string' ? `holidays.${i}` : `holidays.${i}.date`,
        'DUPLICATE',
        `names ${date} a second time`,
      );
    seen.add(date);
  }
}

/** Records the change; every participant's schedule is checked again, and unchanged ones get no new version. */
async function noteChange(
  { tx, audit, actor, context }: RequestScope,
  calendar: HolidayCalendarRecord,
  action: string,
  more: Record<string, unknown> = {},
): Promise<void> {
  const { id, study_id, name } = calendar;
  audit.record({
    ...auditActor(actor, context),
    study_id,
    action,
    resource_type: 'holiday_calendar',
    resource_id: id,
    metadata: { name, ...more },
  });
  await putOutbox(tx, [
    {
      topic: 'study-changed',
      studyId: study_id,
      subject: study_id,
      payload: { kind: 'calendar', actor_user_id: actor.id },
    },
  ]);
}
