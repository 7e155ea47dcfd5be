import {
  Instant,
  Json,
  Language,
  Reason,
  TimeZone,
  Type,
  Uuid,
  importClaims,
  nullable,
  oneOf,
  text,
  input,
  named,
  record,
} from '../../http/common.schemas.js';
import { RawTrial, TaskName, TaskSummary, SessionWarning } from '../sessions/sessions.schemas.js';

const LocalId = text(200, 1);
const notContent = {
  syncStatus: Type.Optional(nullable(text(50))),
  syncAttempts: Type.Optional(nullable(Type.Integer({ minimum: 0 }))),
};

/** A device's session. `syncStatus` and `syncAttempts` are not content. */
export const SessionItem = input('OfflineSession', {
  id: LocalId,
  participantId: Type.String({ minLength: 1, maxLength: 64, 'x-nfc': true, description: 'id or code' }),
  studyId: Uuid,
  status: oneOf('active', 'in_progress', 'completed', 'expired', 'abandoned'),
  startedAt: Instant,
  completedAt: Type.Optional(nullable(Instant)),
  ...notContent,
  visitId: Type.Optional(nullable(Uuid)),
  batteryId: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  batteryVersion: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  language: Type.Optional(nullable(Language)),
  timezone: Type.Optional(nullable(TimeZone)),
  deviceId: Type.Optional(nullable(LocalId)),
});
export const ResponseItem = input('OfflineResponse', {
  id: LocalId,
  sessionId: Type.String({ minLength: 1, maxLength: 200, description: 'local or server id' }),
  deviceId: Type.Optional(
    nullable({
      ...LocalId,
      description: 'the device of the session: distinguishes sessions of several devices with the same local id',
    }),
  ),
  task: TaskName,
  moduleId: Type.Optional(
    nullable({ ...Uuid, description: 'the module of the session’s battery, as `module_id` of a submission' }),
  ),
  summary: Type.Optional(nullable(TaskSummary)),
  trials: Type.Optional(
    nullable(
      Type.Array(
        Type.Object({ ...RawTrial.properties, task: Type.Optional(TaskName) }, { additionalProperties: false }),
      ),
    ),
  ),
  ...notContent,
});

const shown = (schema: unknown) => Type.Unsafe<Record<string, unknown>>({ type: 'object', 'x-shown': schema });
/** Items are checked one by one: an invalid one is answered as `rejected` and does not stop the others. */
export const AnySession = shown(SessionItem);
export const AnyResponse = shown(ResponseItem);
// List items are not even checked to be objects here: an invalid item must not stop the others.
const Items = (item: unknown) => Type.Optional(nullable(Type.Array(Type.Unsafe<unknown>({ 'x-shown': item }))));
export const Bulk = input('SyncBulk', { sessions: Items(SessionItem), responses: Items(ResponseItem) });
export const deviceClock = Type.Object({
  'x-device-time': Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'what the device’s clock shows while it sends: the difference to ours is kept with its sessions',
    }),
  ),
});

export const ConflictType = named(
  'SyncConflictType',
  oneOf(
    'duplicate_session',
    'duplicate_response',
    'visit_already_completed',
    'participant_withdrawn',
    'battery_version_mismatch',
  ),
);
export const Resolution = named('SyncResolution', oneOf('server_wins', 'both_kept'));
export const ItemResult = record('SyncItemResult', {
  kind: oneOf('session', 'response'),
  local_id: nullable(Type.String()),
  server_id: nullable(Type.String()),
  status: oneOf('created', 'duplicate', 'conflict', 'rejected'),
  conflict_type: Type.Optional(ConflictType),
  resolution: Type.Optional(Resolution),
  code: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  warnings: Type.Optional(Type.Array(SessionWarning)),
  quality_flags: Type.Optional(Type.Array(SessionWarning)),
});
export const BulkResult = record('SyncBulkResult', {
  results: Type.Array(ItemResult),
  created: Type.Integer(),
  duplicates: Type.Integer(),
  conflicts: Type.Integer(),
  rejected: Type.Integer(),
});
export const SyncStatus = record('SyncServerStatus', {
  status: oneOf('ok'),
  server_time: Instant,
  max_items: Type.Integer(),
});
const Found = record('SyncConflictFound', {
  conflict_type: ConflictType,
  local_id: Type.String(),
  server_id: nullable(Type.String()),
  resolution: Resolution,
  message: Type.String(),
});
export const ConflictReport = record('SyncConflictReport', {
  has_conflicts: Type.Boolean(),
  session_conflicts: Type.Array(Found),
  response_conflicts: Type.Array(Found),
  rejected: Type.Array(ItemResult),
});

export const Conflict = record('SyncConflict', {
  id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  participant_code: Type.String(),
  kind: oneOf('session', 'response'),
  conflict_type: ConflictType,
  resolution: Resolution,
  local_id: Type.String(),
  session_id: nullable(Uuid),
  task: nullable(Type.String()),
  message: Type.String(),
  local_content: Json,
  server_content: nullable(Json),
  status: oneOf('open', 'resolved'),
  keep: nullable(oneOf('server', 'local', 'both')),
  reason: nullable(Type.String()),
  resolved_by_id: nullable(Uuid),
  resolved_at: nullable(Instant),
  detected_at: Instant,
  ...importClaims,
});
export const Resolve = input('SyncConflictResolve', { keep: oneOf('server', 'local', 'both'), reason: Reason });
