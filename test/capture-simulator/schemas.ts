import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';

const closed = { additionalProperties: false };
const text = (fallback = '') => Type.String({ default: fallback });
const flag = (fallback: boolean) => Type.Boolean({ default: fallback });
const nullable = <T extends TSchema>(schema: T) => Type.Union([Type.Null(), schema], { default: null });

export const TriggerSchema = Type.Object(
  {
    url: nullable(Type.String()),
    prefix: Type.Union([Type.Literal('datacapture_'), Type.Literal('redcap_')], { default: 'datacapture_' }),
    signing: Type.Union([Type.Literal('none'), Type.Literal('header'), Type.Literal('url')], { default: 'header' }),
    timestamp: flag(false),
    secret: nullable(Type.String({ minLength: 1 })),
  },
  closed,
);

/** An event, which gets its unique name and its id when it is made. */
export const EventSchema = Type.Object(
  {
    event_name: Type.String({ minLength: 1 }),
    arm_num: Type.Integer({ default: 1 }),
    custom_event_label: nullable(Type.String()),
    day_offset: Type.Number({ default: 0 }),
    offset_min: Type.Number({ default: 0 }),
    offset_max: Type.Number({ default: 0 }),
    forms: Type.Array(Type.String()),
    repeating: flag(false),
  },
  closed,
);

/** `project.json`: everything of a project that neither its dictionary nor its data says. */
export const ProjectFileSchema = Type.Object(
  {
    project_id: Type.Integer({ minimum: 1 }),
    title: Type.String({ minLength: 1 }),
    created_at: text('2024-01-08 09:00:00'),
    in_production: flag(true),
    language: text('English'),
    purpose: Type.Integer({ default: 2 }),
    notes: text(),
    irb_number: text(),
    pi_firstname: text(),
    pi_lastname: text(),
    scheduling: flag(true),
    record_autonumbering: flag(false),
    secondary_unique_field: text(),
    custom_record_label: text(),
    missing_data_codes: text(),
    arms: Type.Array(Type.Object({ arm_num: Type.Integer({ minimum: 1 }), name: Type.String() }, closed), {
      default: [],
    }),
    events: Type.Array(EventSchema, { default: [] }),
    instruments: Type.Array(Type.Object({ name: Type.String(), label: Type.String(), survey: flag(false) }, closed), {
      default: [],
    }),
    repeating_instruments: Type.Array(Type.Object({ event: text(), instrument: Type.String() }, closed), {
      default: [],
    }),
    data_access_groups: Type.Array(
      Type.Object({ unique_group_name: Type.String(), data_access_group_name: Type.String() }, closed),
      { default: [] },
    ),
    users: Type.Array(
      Type.Object(
        {
          username: Type.String({ minLength: 1 }),
          token: nullable(Type.String({ pattern: '^[0-9A-Fa-f]{32}$' })),
          email: text(),
          firstname: text(),
          lastname: text(),
          data_access_group: nullable(Type.String()),
          api_export: flag(true),
          api_import: flag(true),
          record_delete: flag(true),
          record_create: flag(true),
          no_export: Type.Array(Type.String(), { default: [] }),
          export_identifiers: flag(true),
          export_deidentified: flag(false),
        },
        closed,
      ),
      { minItems: 1 },
    ),
    trigger: Type.Object(TriggerSchema.properties, { ...closed, default: {} }),
  },
  closed,
);
export type ProjectFile = Static<typeof ProjectFileSchema>;

/** One fault; see README.md for what each key does. */
export const FaultSchema = Type.Object(
  {
    project_id: Type.Optional(Type.Integer()),
    /** `record`, `record:import`, `metadata`, …; absent: every call. */
    content: Type.Optional(Type.Array(Type.String())),
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    skip: Type.Optional(Type.Integer({ minimum: 0 })),
    every: Type.Optional(Type.Integer({ minimum: 1 })),
    above_records: Type.Optional(Type.Integer({ minimum: 0 })),
    latency_ms: Type.Optional(Type.Number({ minimum: 0 })),
    hold: Type.Optional(Type.Boolean()),
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    message: Type.Optional(Type.String()),
    retry_after: Type.Optional(Type.String()),
    html: Type.Optional(Type.Boolean()),
    fatal: Type.Optional(Type.Boolean()),
    redirect: Type.Optional(Type.String()),
    body: Type.Optional(Type.String()),
    content_type: Type.Optional(Type.String()),
    encoding: Type.Optional(Type.Union([Type.Literal('latin1'), Type.Literal('utf16le')])),
    compress: Type.Optional(Type.Union([Type.Literal('gzip'), Type.Literal('deflate'), Type.Literal('br')])),
    pad_bytes: Type.Optional(Type.Integer({ minimum: 1 })),
    after_write: Type.Optional(Type.Boolean()),
    truncate_json: Type.Optional(Type.Boolean()),
    slow_body_ms: Type.Optional(Type.Number({ minimum: 0 })),
    drop: Type.Optional(Type.Union([Type.Literal('before'), Type.Literal('after')])),
    rate_limit_per_minute: Type.Optional(Type.Integer({ minimum: 1 })),
    ban: Type.Optional(Type.Boolean()),
  },
  closed,
);
export type Fault = Static<typeof FaultSchema>;

export const SaveSchema = Type.Object(
  {
    /** Absent in a project that numbers its records: the next number. */
    record: Type.Optional(Type.String()),
    instrument: Type.String(),
    event: Type.Optional(Type.String()),
    values: Type.Record(Type.String(), Type.String(), { default: {} }),
    complete: Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal('2')], { default: '2' }),
    repeat_instance: Type.Optional(Type.Integer({ minimum: 1 })),
    data_access_group: Type.Optional(Type.String()),
    username: Type.Optional(Type.String()),
    /** Saved by the participant: the trigger's user is `[survey respondent]`. */
    survey: flag(false),
    /** False: saved without a trigger, as when the trigger was lost. */
    trigger: flag(true),
  },
  closed,
);
export type SaveRequest = Static<typeof SaveSchema>;

export const SendTriggerSchema = Type.Object(
  {
    record: Type.String(),
    instrument: Type.String(),
    event: Type.Optional(Type.String()),
    complete: Type.String({ default: '2' }),
    repeat_instance: Type.Optional(Type.Integer({ minimum: 1 })),
    username: Type.Optional(Type.String()),
    /** How many identical ones are sent at once. */
    times: Type.Integer({ default: 1, minimum: 1, maximum: 10_000 }),
  },
  closed,
);
export type SendTriggerRequest = Static<typeof SendTriggerSchema>;

export const RecordSchema = Type.Object({ record: Type.String() }, closed);
export const RenameSchema = Type.Object({ record: Type.String(), to: Type.String({ minLength: 1 }) }, closed);
export const EventNameSchema = Type.Object({ event: Type.String() }, closed);
export const RenameEventSchema = Type.Object({ event: Type.String(), to: Type.String({ minLength: 1 }) }, closed);
export const LockSchema = Type.Object(
  {
    record: Type.String(),
    locked: flag(true),
    instrument: Type.Optional(Type.String()),
    event: Type.Optional(Type.String()),
  },
  closed,
);
export const LoadSchema = Type.Object({ rows: Type.Array(Type.Record(Type.String(), Type.String())) }, closed);

export const CreateProjectSchema = Type.Union([
  Type.Object({ directory: Type.String() }, closed),
  Type.Object({ project: Type.Unknown(), dictionary: Type.String(), data: text() }, closed),
]);
export const PatchProjectSchema = Type.Object(
  {
    trigger: Type.Optional(Type.Partial(TriggerSchema, closed)),
    in_production: Type.Optional(Type.Boolean()),
  },
  closed,
);

/** A value that is not what its schema asks for; `message` names the first faults. */
export class InputError extends Error {
  constructor(
    message: string,
    readonly status = 400,
  ) {
    super(message);
    this.name = 'InputError';
  }
}

/** Fills defaults and checks; throws InputError saying `what` is wrong where. */
export function readInput<T extends TSchema>(schema: T, input: unknown, what: string): Static<T> {
  const value = Value.Default(schema, structuredClone(input));
  if (Value.Check(schema, value)) return value;
  const faults = [...Value.Errors(schema, value)]
    .slice(0, 3)
    .map((error) => `${error.instancePath || '/'} ${error.message}`);
  throw new InputError(`${what} is not valid: ${faults.join('; ')}.`);
}
