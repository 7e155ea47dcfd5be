import { Model } from 'objection';
import { Row } from './base.js';
import { Participant, Study } from './records.js';
import { AssessmentSession } from './assessment.js';

/** The connection of a study to its capture system. */
export class CaptureConfig extends Row {
  static override tableName = 'datacapture_configs';
  static override jsonAttributes = [
    'participant_field_mapping',
    'event_battery_mapping',
    'data_field_mapping',
    'known_events',
  ];
  declare study_id: string;
  declare api_url: string;
  declare project_id: string | null;
  declare poll_interval_minutes: number;
  declare sync_status: 'pending' | 'active' | 'error';
  declare sync_error_message: string | null;
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'datacapture_configs.study_id', to: 'studies.id' },
    },
  });
}

/** One sync of a study's records. */
export class CaptureSync extends Row {
  static override tableName = 'datacapture_syncs';
  static override jsonAttributes = ['counts'];
  declare study_id: string;
  declare kind: 'sync' | 'poll';
  declare status: 'running' | 'completed' | 'failed';
  declare requested_by_id: string | null;
  declare changed_since: string | null;
  declare listed: boolean;
  declare records_total: number;
  declare counts: Partial<Record<string, number>>;
  declare error_code: string | null;
  declare error: string | null;
  declare finished_at: string | null;
  static override relationMappings = () => ({
    records: {
      relation: Model.HasManyRelation,
      modelClass: CaptureSyncRecord,
      join: { from: 'datacapture_syncs.id', to: 'datacapture_sync_records.sync_id' },
    },
  });
}

/** A record of a sync, and its outcome. */
export class CaptureSyncRecord extends Model {
  static override tableName = 'datacapture_sync_records';
  static override idColumn = ['sync_id', 'record'];
  static override jsonAttributes = ['issues'];
  declare sync_id: string;
  declare study_id: string;
  declare record: string;
  declare position: number;
  declare outcome: string | null;
  declare participant_id: string | null;
  declare issues: { code: string; message: string }[];
}

/** The push of one session's results to the capture system. */
export class ResultPush extends Model {
  static override tableName = 'result_pushes';
  static override idColumn = 'session_id';
  static override jsonAttributes = ['warnings'];
  declare session_id: string;
  declare study_id: string;
  declare participant_id: string;
  declare status: 'pending' | 'waiting' | 'synced' | 'failed';
  declare requested_at: string;
  declare next_attempt_at: string | null;
  declare error_type: string | null;
  declare forbidden: boolean;
  static override relationMappings = () => ({
    session: {
      relation: Model.BelongsToOneRelation,
      modelClass: AssessmentSession,
      join: { from: 'result_pushes.session_id', to: 'assessment_sessions.id' },
    },
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'result_pushes.participant_id', to: 'participants.id' },
    },
  });
}

/** A question to the capture system, and its requester. */
export class CaptureQuestion extends Row {
  static override tableName = 'capture_questions';
  declare study_id: string;
  declare user_id: string;
  declare kind: string;
  declare request_id: string;
  declare asked_at: string;
  declare recorded_at: string | null;
}
