import {
  Instant,
  Json,
  Type,
  Uuid,
  earlierOverrides,
  nullable,
  oneOf,
  text,
  named,
  input,
  record,
} from '../http/common.schemas.js';

const name = Type.String({ minLength: 1, maxLength: 200 });
const batteryId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const targetDay = Type.Integer({ minimum: -36_500, maximum: 36_500 });
// No defaults in the schema: validation would fill them in, and a merge would treat them as changes.
const windowSide = (fallback: number) =>
  Type.Optional(
    Type.Integer({ minimum: 0, maximum: 3_650, description: `days; ${fallback} where a new entry does not say` }),
  );
const windows = { window_before: windowSide(0), window_after: windowSide(7) };

/** A complete mapping, as PUT takes it. */
export const EventBatteryMapping = named(
  'EventBatteryMapping',
  Type.Record(
    name,
    Type.Object({ battery_id: batteryId, target_day: targetDay, ...windows }, { additionalProperties: false }),
  ),
);
/** Parts of a mapping, merged into the stored one; null removes an entry (JSON Merge Patch). */
const EventBatteryChange = named(
  'EventBatteryMappingPatch',
  Type.Record(
    name,
    nullable(
      Type.Object(
        { battery_id: Type.Optional(batteryId), target_day: Type.Optional(targetDay), ...windows },
        { additionalProperties: false },
      ),
    ),
  ),
);
const ParticipantFieldChange = Type.Record(name, nullable(name));
const DataFieldChange = named(
  'DataFieldMappingPatch',
  Type.Record(
    name,
    nullable(
      Type.Object(
        {
          datacapture_instrument: Type.Optional(name),
          redcap_instrument: Type.Optional({ ...name, description: 'taken for `datacapture_instrument`' }),
          fields: Type.Optional(Type.Record(name, nullable(name))),
        },
        { additionalProperties: false },
      ),
    ),
  ),
);

export const ConfigPatch = input('CaptureConfigPatch', {
  api_url: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: 'the API of the capture system, usually ending in /api/',
    }),
  ),
  api_token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      pattern: '^\\s*[\\x21-\\x7e]+\\s*$',
      description: 'kept encrypted, never returned',
    }),
  ),
  project_id: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 100 }))),
  enrollment_instrument: Type.Optional(nullable(name)),
  // One event for each arm.
  enrollment_event: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 4_000 }))),
  participant_field_mapping: Type.Optional(ParticipantFieldChange),
  event_battery_mapping: Type.Optional(EventBatteryChange),
  data_field_mapping: Type.Optional(DataFieldChange),
  webhook_enabled: Type.Optional(Type.Boolean()),
  webhook_secret: Type.Optional(nullable(text(500, 1))),
  webhook_auth: Type.Optional(oneOf('header', 'url')),
  poll_interval_minutes: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 525_600,
      description: '0: no poll; fractions are allowed, the shortest poll is one second',
    }),
  ),
  create_missing_sites: Type.Optional(
    Type.Boolean({
      description: 'make a site of a site code or data access group that the study does not have; default false',
    }),
  ),
});

const MappingWarning = record('CaptureWarning', {
  code: Type.String(),
  path: Type.Optional(Type.String()),
  message: Type.String(),
});
const warnings = Type.Optional(
  Type.Array(MappingWarning, {
    description:
      'what the capture system does not know, and what no push or reading can satisfy; absent where there is none',
  }),
);

/** As returned: without token and secret. */
export const Config = record('CaptureConfig', {
  id: Uuid,
  study_id: Uuid,
  api_url: Type.String(),
  project_id: nullable(Type.String()),
  enrollment_instrument: nullable(Type.String()),
  enrollment_event: nullable(Type.String()),
  participant_field_mapping: Json,
  event_battery_mapping: Json,
  webhook_enabled: Type.Boolean(),
  sync_status: oneOf('pending', 'active', 'error'),
  warnings,
  ...earlierOverrides,
});

export const StrictQuery = Type.Object({
  strict: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'refuse what would be in `warnings`',
    }),
  ),
});
export const EventMappingPut = input('EventMappingReplace', { event_battery_mapping: EventBatteryMapping });
export const EventMapping = record('EventMapping', {
  study_id: Uuid,
  event_battery_mapping: Json,
  enrollment_instrument: nullable(Type.String()),
  enrollment_event: nullable(Type.String()),
});
export const EventMappingUpdated = record('EventMappingUpdated', {
  status: oneOf('updated'),
  warnings,
  ...earlierOverrides,
});

export const Connected = record('CaptureConnection', {
  status: oneOf('connected'),
  project_title: Type.String(),
  project_id: Type.String(),
  is_longitudinal: Type.Boolean(),
  record_count: Type.Integer(),
});
export const Instruments = record('CaptureInstruments', {
  instruments: Type.Array(Type.Object({ instrument_name: Type.String(), instrument_label: Type.String() })),
});
export const CaptureEvents = record('CaptureEvents', {
  events: Type.Array(
    Type.Object({
      event_id: Type.String({ description: 'stays when the event is renamed' }),
      event_name: Type.String(),
      unique_event_name: Type.String(),
      arm_num: Type.Integer(),
      day_offset: nullable(Type.Integer()),
      offset_min: nullable(Type.Integer()),
      offset_max: nullable(Type.Integer()),
    }),
    { description: 'empty for a classic project; offsets only where the project uses scheduling' },
  ),
});

export const CaptureStatus = record('CaptureStatus', {
  sync_status: oneOf('pending', 'active', 'error'),
  last_sync_at: nullable(Instant),
  last_webhook_received: nullable(Instant),
  sync_error_message: nullable(Type.String()),
  breaker: Type.Object({
    state: oneOf('closed', 'open', 'half_open'),
    consecutive_failures: Type.Integer(),
    opened_at: nullable(Instant),
    next_attempt_at: nullable(Instant),
    last_error: nullable(Type.String()),
  }),
  pushes: Type.Object({ pending: Type.Integer(), synced: Type.Integer(), failed: Type.Integer() }),
});

export const SyncEvents = record('CaptureEventsSynced', {
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer(),
  skipped: Type.Array(Type.Object({ datacapture_event: Type.String(), reason: Type.String() })),
  renamed: Type.Array(Type.Object({ event_id: Type.String(), from: Type.String(), to: Type.String() }), {
    description: 'events that were renamed since the last request',
  }),
  missing: Type.Array(Type.Object({ datacapture_event: Type.String(), reason: Type.String() }), {
    description: 'events that windows, mapping or open visits name and the capture system does not have',
  }),
  ...earlierOverrides,
});
