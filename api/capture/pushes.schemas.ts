import {
  Instant,
  Type,
  Uuid,
  listOf,
  nullable,
  oneOf,
  paging,
  sorting,
  record,
  input,
  named,
} from '../http/common.schemas.js';

const errorTypes = [
  'circuit_open',
  'connection_error',
  'http_error',
  'timeout',
  'invalid_response',
  'rejected',
  'configuration',
  'internal',
] as const;
const PushErrorType = named('PushErrorType', oneOf(...errorTypes));
const ErrorType = nullable(PushErrorType);

const PushWarning = record('PushWarning', { code: Type.String(), field: Type.String(), message: Type.String() });
const warnings = Type.Array(PushWarning, {
  description: 'sent despite a warning: OUT_OF_RANGE (a value outside of the range that the field suggests)',
});

/** A session's push: `waiting` failed and is retried at `next_attempt_at`, `failed` is retried only on request. */
const push = {
  session_id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  status: named('PushPhase', oneOf('pending', 'waiting', 'synced', 'failed', 'skipped')),
  requested_at: Instant,
  attempts: Type.Integer({ description: 'those that have ended, of all times that it was asked for' }),
  error_type: ErrorType,
  message: nullable(Type.String({ description: 'why, without secrets, record ids and values' })),
  next_attempt_at: nullable(Instant),
  warnings,
};
const Attempt = record('Push', {
  id: Uuid,
  session_id: Uuid,
  visit_id: nullable(Uuid),
  number: Type.Integer({ minimum: 1 }),
  status: oneOf('success', 'failed', 'skipped'),
  error_type: ErrorType,
  message: nullable(Type.String()),
  records_imported: nullable(
    Type.Integer({ description: 'also of a failed push of which only some fields were refused' }),
  ),
  already_there: Type.Boolean({
    description: 'an earlier attempt whose answer was lost had written it: nothing was written again',
  }),
  warnings,
  started_at: Instant,
  at: Type.String({ format: 'date-time', description: 'when it ended' }),
  next_attempt_at: nullable(Instant),
});
export const Attempts = record('PushList', {
  items: Type.Array(Attempt),
  total: Type.Integer(),
  push: Type.Unsafe<Record<string, unknown> | null>({
    anyOf: [record('PushState', push), { type: 'null' }],
    description: 'null: nothing was to be pushed',
  }),
});
export const AttemptQuery = Type.Object({ ...paging, sort: sorting('at') });
export const PushStarted = record('PushStarted', { status: oneOf('started'), session_id: Uuid });

export const PushFailures = listOf(
  record('PushFailure', {
    ...push,
    participant_code: Type.String(),
    visit_id: nullable(Uuid),
    datacapture_event: nullable(Type.String()),
    final: Type.Boolean({ description: 'no automatic retry: POST /api/sessions/{id}/push does' }),
    failed_at: Instant,
  }),
);
export const PushRetry = input('PushFailuresRetry', {
  session_ids: Type.Optional(
    Type.Array(Uuid, { minItems: 1, maxItems: 1_000, description: 'those alone; without it all that have failed' }),
  ),
});
export const PushesRetried = record('PushFailuresRetried', {
  status: oneOf('started'),
  session_ids: Type.Array(Uuid, { description: 'what is tried now' }),
  skipped: Type.Array(Type.Object({ session_id: Uuid, reason: Type.String() }), {
    description: 'what was named and has no failed push in this study',
  }),
});
export const FailureQuery = Type.Object({
  ...paging,
  sort: sorting('failed_at'),
  final: Type.Optional(Type.Boolean()),
  error_type: Type.Optional(PushErrorType),
});
