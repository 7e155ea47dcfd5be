import {
  EventName,
  nameText,
  Instant,
  IsoDate,
  Type,
  Uuid,
  body,
  earlierOverrides,
  nullable,
  partial,
  named,
  record,
  input,
  extended,
} from '../http/common.schemas.js';
import type { Static } from '../http/common.schemas.js';
import { VisitStatus } from './schedules.schemas.js';

export const Day = Type.Integer({ minimum: -36_500, maximum: 36_500, description: 'days from the anchor date' });
export const Days = Type.Integer({ minimum: 0, maximum: 3_650 });
export const Occurrences = Type.Integer({ minimum: 1, maximum: 366, description: 'how many times in all' });
export const RepeatDays = Type.Integer({ minimum: 1, maximum: 3_650 });
const Repeating = named(
  'Repeating',
  Type.Object(
    {
      count: Occurrences,
      every_days: RepeatDays,
    },
    { additionalProperties: false },
  ),
);

export const EventDefinition = record('EventDefinition', {
  id: Uuid,
  study_id: Uuid,
  event_oid: Type.String(),
  name: Type.String(),
  target_day: Type.Integer(),
  window_before: Type.Integer(),
  window_after: Type.Integer(),
  battery_id: nullable(Type.Integer()),
  is_baseline: Type.Boolean(),
  repeating: nullable(Repeating),
  datacapture_event: nullable(Type.String()),
  sort_order: Type.Integer(),
  created_at: Instant,
  updated_at: Instant,
});
/** As a change of it is answered. */
export const ChangedEventDefinition = extended('EventDefinitionChanged', EventDefinition, earlierOverrides);
export const NewEventDefinition = input('EventDefinitionCreate', {
  event_oid: nameText(200),
  name: nameText(300),
  target_day: Day,
  window_before: Type.Optional(Days),
  window_after: Type.Optional(Days),
  battery_id: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  is_baseline: Type.Optional(Type.Boolean()),
  repeating: Type.Optional(nullable(Repeating)),
  datacapture_event: Type.Optional(nullable(EventName)),
  sort_order: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })),
});
const RepeatingChange = named('RepeatingPatch', partial(Repeating));
export const EventDefinitionChange = input('EventDefinitionPatch', {
  ...partial(NewEventDefinition).properties,
  repeating: Type.Optional(nullable(RepeatingChange)),
});

const Weekday = Type.Integer({ minimum: 1, maximum: 7 });
const NamedHoliday = input('HolidayCreate', { date: IsoDate, name: Type.Optional(nullable(nameText(200))) });
// One type list, as in `nullable`: each keyword applies to its own type only, and an error names the broken rule.
const Holiday = Type.Unsafe<Static<typeof NamedHoliday> | string>({
  ...NamedHoliday,
  $id: 'HolidayGiven',
  type: ['object', 'string'],
  format: 'date',
  'x-shown': { oneOf: [NamedHoliday, IsoDate] },
});
const weekend = {
  maxItems: 6,
  uniqueItems: true,
  description: 'ISO: 1 is Monday, 7 is Sunday; at least one day is a working day',
};

export const WeekendDays = Type.Array(Weekday, weekend);
export const MAX_HOLIDAYS = 5_000;

export const HolidayCalendar = record('HolidayCalendar', {
  id: Uuid,
  study_id: Uuid,
  site_id: nullable(Uuid),
  name: Type.String(),
  is_default: Type.Boolean(),
  weekend_days: Type.Array(Type.Integer()),
  holidays: Type.Array(Type.Object({ date: IsoDate, name: nullable(Type.String()) })),
  created_at: Instant,
  updated_at: Instant,
});
/** As a change of it is answered. */
export const ChangedHolidayCalendar = extended('HolidayCalendarChanged', HolidayCalendar, earlierOverrides);
const calendarFields = {
  name: nameText(200),
  is_default: Type.Optional(Type.Boolean()),
  weekend_days: Type.Optional(WeekendDays),
  holidays: Type.Optional(
    Type.Array(Holiday, { maxItems: MAX_HOLIDAYS, description: 'each date once, alone or with a name' }),
  ),
  site_id: Type.Optional(nullable(Uuid)),
};
export const NewHolidayCalendar = named('HolidayCalendarCreate', body(calendarFields));
export const HolidayCalendarChange = named('HolidayCalendarPatch', partial(NewHolidayCalendar));

export const EventInstance = record('EventInstance', {
  id: Uuid,
  visit_key: Uuid,
  participant_id: Uuid,
  event_definition_id: nullable(Uuid),
  event_oid: Type.String(),
  occurrence: Type.Integer(),
  name: Type.String(),
  target_date: IsoDate,
  window_open: IsoDate,
  window_close: IsoDate,
  status: VisitStatus,
  completed_at: nullable(Instant),
  schedule_version_id: nullable(Uuid),
  anchor_reconciled: Type.Boolean({
    description: 'completed, or superseded with a final date, under an anchor date that has moved since',
  }),
  anchor_reconciled_at: nullable(Instant),
});
