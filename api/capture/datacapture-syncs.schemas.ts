import {
  Instant,
  Type,
  Uuid,
  listOf,
  nullable,
  oneOf,
  paging,
  record,
  Remark,
  extended,
} from '../http/common.schemas.js';

const count = (description: string) => Type.Integer({ description });
const Progress = record('CaptureSyncProgress', {
  total: count('records to read'),
  done: count('read so far'),
  created: count('participants enrolled'),
  updated: count('participants or facts changed'),
  unchanged: count('as they were when last read'),
  skipped: count('records whose enrollment form was never filled in'),
  override_required: count('another date for a final anchor: nothing was moved'),
  failed: count('records that could not be taken, each named in the issues'),
  vanished: count('participants whose record the capture system lacks'),
});

/** One reading of a study's records: on request (sync), or on schedule (poll). */
export const Sync = record('CaptureSync', {
  id: Uuid,
  study_id: Uuid,
  kind: oneOf('sync', 'poll'),
  status: oneOf('running', 'completed', 'failed'),
  requested_by_id: nullable(Uuid),
  changed_since: nullable(Instant),
  progress: Progress,
  error: nullable(Remark),
  started_at: Instant,
  finished_at: nullable(Instant),
});
const Issue = record('CaptureSyncIssue', {
  record: Type.String(),
  outcome: nullable(Type.String()),
  participant_id: nullable(Uuid),
  issues: Type.Array(Remark),
});
export const SyncReport = extended('CaptureSyncReport', Sync, { issues: listOf(Issue) });
export const Syncs = listOf(Sync);
export const SyncPage = Type.Object(paging);
export const SyncStarted = record('CaptureSyncStarted', { status: oneOf('started'), sync_id: Uuid });
