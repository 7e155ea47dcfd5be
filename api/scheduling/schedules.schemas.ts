import {
  nameText,
  Code,
  EventName,
  Instant,
  IsoDate,
  Reason,
  Type,
  Uuid,
  body,
  importClaims,
  earlierOverrides,
  nullable,
  oneOf,
  partial,
  text,
  record,
  input,
  named,
  extended,
} from '../http/common.schemas.js';

const Day = Type.Integer({ minimum: -36_500, maximum: 36_500, description: 'days from the anchor date' });
const Days = Type.Integer({ minimum: 0, maximum: 3_650 });
const BatteryId = nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }));
const Event = nullable(EventName);

export const VisitWindow = record('VisitWindow', {
  id: Uuid,
  study_id: Uuid,
  code: Type.String(),
  name: Type.String(),
  battery_id: nullable(Type.Integer()),
  target_day: Type.Integer(),
  window_before: Type.Integer(),
  window_after: Type.Integer(),
  is_baseline: Type.Boolean(),
  datacapture_event: nullable(Type.String()),
  sort_order: Type.Integer(),
  created_at: Instant,
  updated_at: Instant,
});
/** As a change of it is answered. */
export const ChangedVisitWindow = extended('VisitWindowChanged', VisitWindow, earlierOverrides);
const windowFields = {
  code: Code,
  name: nameText(300),
  battery_id: Type.Optional(BatteryId),
  target_day: Day,
  window_before: Type.Optional(Days),
  window_after: Type.Optional(Days),
  is_baseline: Type.Optional(Type.Boolean()),
  datacapture_event: Type.Optional(Event),
  sort_order: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })),
};
/** The study comes from `study_id` here or from the context. */
export const NewVisitWindow = input('VisitWindowCreate', { ...windowFields, study_id: Type.Optional(Uuid) });
export const VisitWindowChange = named('VisitWindowPatch', partial(body(windowFields)));

export const VisitStatus = named(
  'VisitStatus',
  oneOf('scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'),
);
export const Visit = record('ScheduledVisit', {
  id: Uuid,
  visit_key: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  participant_code: Type.String(),
  site_code: nullable(Type.String()),
  visit_window_id: nullable(Uuid),
  schedule_version_id: nullable(Uuid),
  name: Type.String(),
  battery_id: nullable(Type.Integer()),
  target_date: IsoDate,
  window_open: IsoDate,
  window_close: IsoDate,
  datacapture_event: nullable(Type.String()),
  is_baseline: Type.Boolean(),
  status: VisitStatus,
  status_reason: nullable(Type.String()),
  completed_at: nullable(Instant),
  session_id: nullable(Uuid),
  data_sync_status: nullable(oneOf('pending', 'synced', 'failed')),
  synced_at: nullable(Instant),
  anchor_reconciled: Type.Boolean({
    description: 'completed, or superseded with a final date, under an anchor date that has moved since',
  }),
  anchor_reconciled_at: nullable(Instant),
  needs_review: Type.Boolean(),
  reporting_target_date: nullable(IsoDate),
  reviewed_at: nullable(Instant),
  reviewed_by_id: nullable(Uuid),
  review_resolution: nullable(Type.String()),
  ...importClaims,
  moved_from: nullable(
    Type.Object(
      { target_date: IsoDate, window_open: IsoDate, window_close: IsoDate },
      {
        description:
          'the days that its schedule had for it when somebody moved it by hand: as long as it has the same, the ' +
          'visit stays where it was put',
      },
    ),
  ),
  changed_from: nullable(
    Type.Object(
      {
        name: Type.Optional(Type.String()),
        battery_id: Type.Optional(nullable(Type.Integer())),
        datacapture_event: Type.Optional(nullable(Type.String())),
      },
      {
        description:
          'what its schedule had when somebody changed it by hand: what was given stays, each for itself, as ' +
          'long as the schedule has the same there',
      },
    ),
  ),
  adherence: nullable(oneOf('early', 'in_window', 'late', 'missed', 'pending', 'cancelled')),
  days_off_target: nullable(
    Type.Integer({ description: 'of a completed visit, by the calendar of its site or study; negative: early' }),
  ),
  created_at: Instant,
  updated_at: Instant,
});
/**
 * Without a window a visit states everything itself; with one, omitted fields come from the window. `study_id` is the
 * participant's.
 */
export const NewVisit = input('VisitCreate', {
  participant_id: Uuid,
  study_id: Type.Optional(Uuid),
  visit_window_id: Type.Optional(nullable(Uuid)),
  name: Type.Optional(nameText(300)),
  battery_id: Type.Optional(BatteryId),
  target_date: IsoDate,
  window_open: Type.Optional(IsoDate),
  window_close: Type.Optional(IsoDate),
  datacapture_event: Type.Optional(Event),
});
export const VisitChange = input('VisitPatch', {
  name: Type.Optional(nameText(300)),
  battery_id: Type.Optional(BatteryId),
  target_date: Type.Optional(IsoDate),
  window_open: Type.Optional(IsoDate),
  window_close: Type.Optional(IsoDate),
  datacapture_event: Type.Optional(Event),
  needs_review: Type.Optional(Type.Boolean()),
  status: Type.Optional(oneOf('cancelled')),
  reason: Type.Optional(Reason),
});
export const Review = input('VisitReview', {
  resolution: Type.Optional(nullable(text(2000))),
  keep_target: Type.Optional(Type.Boolean({ default: true })),
});
export const Completion = input('VisitComplete', { completed_at: Type.Optional(Instant) });
export const Because = input('VisitReason', { reason: Reason });
