import {
  SoughtCode,
  Instant,
  Json,
  Language,
  TimeZone,
  Type,
  Uuid,
  nullable,
  oneOf,
  text,
  record,
  named,
  input,
  Remark,
  extended,
  NumberMap,
} from '../../http/common.schemas.js';

const TaskRemark = record('TaskRemark', {
  code: Type.String(),
  task: Type.String(),
  message: Type.String(),
  count: Type.Integer(),
});
export const SessionWarning = record('SessionWarning', {
  code: Type.String(),
  message: Type.String(),
  visit_ids: Type.Optional(Type.Array(Uuid, { description: 'of SEVERAL_OPEN_VISITS: each may be named as the visit' })),
});
/** The client's summary has priority; if there is none, it is computed from the trials. */
export const SummarySource = named('SummarySource', oneOf('client', 'computed'));
export const SessionStatus = named('SessionStatus', oneOf('active', 'completed', 'expired', 'abandoned'));
export const SessionSource = named('SessionSource', oneOf('online', 'offline'));
const Sync = nullable(named('SyncState', oneOf('pending', 'synced', 'failed')));

const session = {
  id: nullable(Uuid),
  public_id: Uuid,
  study_id: Uuid,
  site_id: nullable(Uuid),
  participant_id: Uuid,
  participant_code: Type.String(),
  site_code: nullable(Type.String()),
  visit_id: nullable(Uuid),
  battery_id: nullable(Type.Integer()),
  battery_version: nullable(Type.Integer()),
  language: nullable(Type.String()),
  status: SessionStatus,
  source: SessionSource,
  local_id: nullable(Type.String()),
  device_id: nullable(Type.String()),
  clock_skew_ms: nullable(
    Type.Integer({ description: 'how far the device’s clock was ahead when it sent the session' }),
  ),
  quality_flags: Type.Array(Remark, {
    description: 'times that are not plausible: kept as they were sent',
  }),
  started_at: Instant,
  expires_at: nullable(Instant),
  completed_at: nullable(Instant),
  timezone: nullable(Type.String()),
  sync_status: Sync,
  synced_at: nullable(Instant),
  task_summaries: Type.Record(Type.String(), NumberMap),
  summary_sources: Type.Record(Type.String(), SummarySource),
  trial_count: Type.Integer(),
  created_at: Instant,
  updated_at: Instant,
};
export const Session = named('AssessmentSession', Type.Object(session));
export const SessionDetails = extended('AssessmentSessionDetails', Session, {
  tasks: Type.Array(
    named(
      'SessionTask',
      Type.Object(
        {
          task: Type.String(),
          local_id: nullable(Type.String()),
          module_id: nullable(Uuid),
          summary: NumberMap,
          summary_source: SummarySource,
          computed_summary: NumberMap,
          summary_difference: NumberMap,
          quality_flags: Type.Array(TaskRemark),
          warnings: Type.Array(TaskRemark),
          trial_count: Type.Integer(),
          content_hash: Type.String(),
          submitted_at: Instant,
        },
        { description: 'the client’s summary, the one that the raw trials give, and the client’s values less ours' },
      ),
    ),
  ),
});

const IdOrCode = SoughtCode;
/** What a device shows that knows no zone or language of ours is no reason to refuse a session. */
const DeviceZone = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'device-zone',
  'x-time-zone': true,
  'x-shown': nullable(TimeZone),
});
const DeviceLanguage = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'device-language',
  'x-shown': nullable(Language),
});
/** `participant_id` and `site_id` may be the id or the code; a code needs the study: `study_id` here or the context. */
export const Start = input('SessionStart', {
  participant_id: IdOrCode,
  site_id: Type.Optional(nullable(IdOrCode)),
  language: Type.Optional(DeviceLanguage),
  visit_id: Type.Optional(nullable(Uuid)),
  study_id: Type.Optional(nullable(Uuid)),
  battery_id: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  timezone: Type.Optional(DeviceZone),
  device_id: Type.Optional(nullable(text(200, 1))),
});
export const Started = record('SessionStarted', {
  sessionId: Uuid,
  expiresAt: Instant,
  visitId: nullable(Uuid),
  batteryId: nullable(Type.Integer()),
  batteryVersion: nullable(Type.Integer()),
  warnings: Type.Array(SessionWarning),
});

const TaskKey = Type.String({ minLength: 1, maxLength: 64, pattern: '^[^\\u0000-\\u001f\\u007f]+$' });
/** null: not measured, the same as absent. */
const metrics = {
  maxProperties: 200,
  propertyNames: { minLength: 1, maxLength: 100 },
  additionalProperties: { type: ['number', 'null'], description: 'null: not measured' },
};
const Metrics = Type.Unsafe<Record<string, number | null>>({ type: 'object', ...metrics });
export const RawTrial = input('RawTrial', {
  task: TaskKey,
  trial_index: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  rt: nullable(
    Type.Number({
      minimum: 0,
      description:
        'milliseconds; null: no reaction. Over a day it is kept, flagged IMPLAUSIBLE, and in no computed summary',
    }),
  ),
  correct: nullable(Type.Boolean()),
  timestamp: Instant,
  practice: Type.Optional(
    nullable(
      Type.Boolean({
        description: 'for practice: kept and exported, and no part of the computed summary and the checks',
      }),
    ),
  ),
  data: Type.Optional(
    nullable(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        maxProperties: 50,
        description: 'further data of the client about the trial; `response` is looked at by the quality checks',
      }),
    ),
  ),
});
export const TaskSummaries = named(
  'TaskSummaries',
  Type.Unsafe<Record<string, Record<string, number | null> | null>>({
    type: 'object',
    maxProperties: 200,
    propertyNames: TaskKey,
    additionalProperties: {
      type: ['object', 'null'],
      ...metrics,
      description: 'null: the client has no summary of the task',
    },
  }),
);
export const TaskSummary = Metrics;
export const TaskName = TaskKey;
/** At most 50,000 trials (413). */
export const Submission = input('Submission', {
  session_id: Type.String({ minLength: 1, maxLength: 100 }),
  module_id: Type.Optional(
    nullable({
      ...Uuid,
      description:
        'the module of the session’s battery whose results these are, all of its one task. Where the battery has ' +
        'several modules of a task it distinguishes them: their results are kept under the module’s name or, where ' +
        'names are the same, as `task#1`, `task#2`',
    }),
  ),
  task_summaries: TaskSummaries,
  raw_trials: Type.Optional(nullable(Type.Array(RawTrial))),
});
export const Submitted = record('SubmissionResult', {
  session_id: Uuid,
  status: oneOf('accepted', 'duplicate'),
  tasks: Type.Integer(),
  trials: Type.Integer(),
  checksum: Type.String({
    description: 'SHA-256, hex, of the canonical JSON (RFC 8785) of {raw_trials, task_summaries} as sent',
  }),
  warnings: Type.Array(TaskRemark),
  quality_flags: Type.Array(TaskRemark),
});
export const SessionState = record('SessionState', {
  session_id: Uuid,
  status: SessionStatus,
  expires_at: nullable(Instant),
  completed_at: nullable(Instant),
  visit_id: nullable(Uuid),
  server_time: Instant,
  tasks: Type.Array(
    Type.Object({
      task: Type.String(),
      trials: Type.Integer(),
      checksum: Type.String({
        description: 'SHA-256, hex, of the canonical JSON (RFC 8785) of {summary, trials} of the task',
      }),
      submitted_at: Instant,
    }),
  ),
});
export const End = input('SessionEnd', { session_id: Type.String({ minLength: 1, maxLength: 100 }) });
export const Ended = record('SessionEnded', {
  session_id: Uuid,
  status: oneOf('completed'),
  completed_at: Instant,
  visit_id: nullable(Uuid),
  warnings: Type.Optional(
    Type.Array(SessionWarning, { description: 'VISIT_COMPLETED: another session had completed the visit' }),
  ),
});
export const Trial = record('Trial', {
  task: Type.String(),
  trial_index: Type.Integer(),
  rt: nullable(Type.Number()),
  correct: nullable(Type.Boolean()),
  timestamp: Instant,
  data: Type.Optional(Json),
  practice: Type.Optional(Type.Literal(true)),
});
