import { AnchorStatus } from '../anchor/anchor.schemas.js';
import { SessionSource, SessionStatus } from '../assessment/sessions/sessions.schemas.js';
import { ParticipantStatus } from '../participants/participants.schemas.js';
import { Battery, NewModule } from '../assessment/batteries/batteries.schemas.js';
import {
  EventName,
  nameText,
  Code,
  Instant,
  IsoDate,
  Json,
  Type,
  Uuid,
  body,
  earlierOverrides,
  nullable,
  oneOf,
  paging,
  text,
  named,
  record,
  input,
  Rows,
  about,
} from '../http/common.schemas.js';
import type { TSchema } from '../http/common.schemas.js';
import { VisitWindow } from '../scheduling/schedules.schemas.js';
/** `cursor` continues after a page; `skip` counts from the beginning. */
export const v1Paging = {
  ...paging,
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: '`next_cursor` of the page before; not together with `skip`',
    }),
  ),
};
export const v1List = <S extends TSchema>(item: S) =>
  Type.Object(
    {
      items: Type.Array(item),
      total: Type.Integer(),
      next_cursor: nullable(Type.String({ description: 'null: this is the last page' })),
    },
    { $id: `V1${String((item as { $id?: string }).$id).replace(/^V1/, '')}Page` },
  );

/** No fields that identify a person. */
export const V1Participant = named(
  'V1Participant',
  Type.Object(
    {
      id: Uuid,
      study_id: Uuid,
      participant_code: Type.String(),
      external_id: nullable(Type.String()),
      site_id: nullable(Uuid),
      site_code: nullable(Type.String()),
      preferred_language: nullable(Type.String()),
      status: ParticipantStatus,
      enrollment_date: nullable(IsoDate),
      timezone: nullable(Type.String()),
      arm: nullable(Type.String()),
      withdrawn_at: nullable(Instant),
      created_at: Instant,
      updated_at: Instant,
    },
    { additionalProperties: false },
  ),
);
export const V1Anchor = named(
  'V1Anchor',
  Type.Object(
    {
      participant_id: Uuid,
      participant_code: Type.String(),
      enrollment_date: nullable(IsoDate),
      enrollment_datetime: nullable(Instant),
      precision: Type.String(),
      partial_value: nullable(Type.String()),
      timezone: nullable(Type.String()),
      status: AnchorStatus,
      source_type: nullable(Type.String()),
      source_ref: nullable(Json),
      is_override: Type.Boolean(),
      override_reason: nullable(Type.String()),
      version: Type.Integer(),
      current_schedule_version_id: nullable(Uuid),
      created_at: Instant,
      updated_at: Instant,
    },
    { additionalProperties: false },
  ),
);
const versionFields = {
  id: Uuid,
  participant_id: Uuid,
  participant_code: Type.String(),
  version_number: Type.Integer(),
  is_current: Type.Boolean(),
  anchor_date_used: IsoDate,
  anchor_version: Type.Integer(),
  scheduling_mode: oneOf('legacy', 'edc'),
  status: oneOf('active', 'superseded', 'reconciled'),
  visits_generated: Type.Integer(),
  generated_at: Instant,
};
export const V1Schedule = named(
  'V1Schedule',
  Type.Object(
    {
      ...versionFields,
      visits: Type.Array(
        Type.Object(
          {
            id: Uuid,
            visit_key: Uuid,
            name: Type.String(),
            target_date: IsoDate,
            window_open: IsoDate,
            window_close: IsoDate,
            battery_id: nullable(Type.Integer()),
            status: Type.String(),
            completed_at: nullable(Instant),
            carried: Type.Boolean({
              description: 'completed under an earlier version, scheduled by hand, or not of a window',
            }),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
);
export const V1Session = named(
  'V1Session',
  Type.Object(
    {
      id: Uuid,
      participant_id: Uuid,
      participant_code: Type.String(),
      visit_id: nullable(Uuid),
      battery_id: nullable(Type.Integer()),
      battery_version: nullable(Type.Integer()),
      language: nullable(Type.String()),
      status: SessionStatus,
      source: SessionSource,
      device_id: nullable(Type.String()),
      clock_skew_ms: nullable(Type.Integer()),
      quality_flags: about(Rows, 'what is not plausible: of its times, and of what its tasks gave'),
      warnings: about(Rows, 'what else was noticed of its tasks'),
      started_at: Instant,
      completed_at: nullable(Instant),
      timezone: nullable(Type.String()),
      sync_status: nullable(Type.String()),
      task_summaries: Json,
      summary_sources: Json,
      trial_count: Type.Integer(),
      created_at: Instant,
      updated_at: Instant,
    },
    { additionalProperties: false },
  ),
);

const head = {
  format: Type.Integer(),
  study: Json,
  sites: Rows,
  participants: Rows,
  anchors: Rows,
  visits: Rows,
  sessions: Rows,
  audit_head: nullable(
    about(
      record('AuditHead', { chain: Type.String(), seq: Type.Integer(), hash: Type.String() }),
      'the last record of the study’s audit chain at that instant',
    ),
  ),
};
export const Snapshot = record('StudySnapshot', { ...head, taken_at: Instant, schedules: Rows });
export const StudyExport = record('StudyHistory', {
  ...head,
  exported_at: Instant,
  anchor_history: Rows,
  schedule_versions: Rows,
  raw_trials: Type.Optional(Rows),
});

const { position: _position, ...moduleFields } = NewModule.properties;
/** The record as read has the code of the path. */
const SameCode = Type.Optional(Type.String({ maxLength: 200, 'x-nfc': true, description: 'as in the path' }));
export const WantedBattery = input('BatteryPut', {
  code: SameCode,
  name: nameText(300),
  description: Type.Optional(nullable(text(10_000))),
  modules: Type.Optional(Type.Array(body(moduleFields), { maxItems: 100 })),
  publish: Type.Optional(Type.Boolean({ description: 'publish the result' })),
});
const Days = Type.Integer({ minimum: 0, maximum: 3_650 });
export const WantedWindow = input('VisitWindowPut', {
  code: SameCode,
  name: nameText(300),
  target_day: Type.Integer({ minimum: -36_500, maximum: 36_500 }),
  window_before: Type.Optional(Days),
  window_after: Type.Optional(Days),
  battery_id: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  battery_code: Type.Optional(nullable(Code)),
  is_baseline: Type.Optional(Type.Boolean()),
  datacapture_event: Type.Optional(nullable(EventName)),
  sort_order: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })),
});
const authored = {
  action: oneOf('created', 'updated', 'unchanged'),
  dry_run: Type.Boolean(),
  changes: Type.Array(record('AuthoredChange', { path: Type.String(), from: Type.Unknown(), to: Type.Unknown() }), {
    description: 'what differs from what stood there',
  }),
};
/** With `dry_run` the current record; null: none yet. */
export const AuthoredBattery = record('BatteryAuthored', { ...authored, battery: nullable(Battery) });
export const AuthoredWindow = record('VisitWindowAuthored', {
  ...authored,
  visit_window: nullable(VisitWindow),
  ...earlierOverrides,
});
