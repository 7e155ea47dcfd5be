import { Model } from 'objection';
import { Row } from './base.js';
import { Participant, ScheduledVisit } from './records.js';

/** A session in which a participant does the tasks of a battery. */
export class AssessmentSession extends Row {
  static override tableName = 'assessment_sessions';
  declare study_id: string;
  declare site_id: string | null;
  declare participant_id: string;
  declare visit_id: string | null;
  declare battery_id: number;
  declare battery_version: number | null;
  declare status: string;
  declare source: 'online' | 'offline';
  declare started_at: string;
  declare completed_at: string | null;
  declare expires_at: string | null;
  declare language: string | null;
  declare timezone: string | null;
  declare device_id: string | null;
  declare local_id: string | null;
  declare content_hash: string | null;
  declare start_hash: string | null;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'assessment_sessions.participant_id', to: 'participants.id' },
    },
    visit: {
      relation: Model.BelongsToOneRelation,
      modelClass: ScheduledVisit,
      join: { from: 'assessment_sessions.visit_id', to: 'scheduled_visits.id' },
    },
  });
}

/** A conflict between a device's data and the service's. */
export class SyncConflict extends Row {
  static override tableName = 'sync_conflicts';
  static override jsonAttributes = ['local_content', 'server_content', 'original_users'];
  declare study_id: string;
  declare participant_id: string;
  declare session_id: string | null;
  declare status: 'open' | 'resolved';
  declare conflict_type: string;
  declare keep: string | null;
  declare reason: string | null;
  declare resolved_by_id: string | null;
  declare resolved_at: string | null;
  declare server_content: unknown;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'sync_conflicts.participant_id', to: 'participants.id' },
    },
  });
}

/** A battery of tasks, as edited. */
export class Battery extends Model {
  static override tableName = 'batteries';
  declare id: number;
  declare study_id: string;
  declare code: string;
  declare name: string;
  declare description: string | null;
  declare version: number;
  declare published_version: number | null;
  declare status: 'draft' | 'published' | 'retired';
  declare created_at: string;
  declare updated_at: string;
  static override relationMappings = () => ({
    modules: {
      relation: Model.HasManyRelation,
      modelClass: BatteryModule,
      join: { from: 'batteries.id', to: 'battery_modules.battery_id' },
    },
  });
}

/** A task of a version of a battery, with its settings. */
export class BatteryModule extends Model {
  static override tableName = 'battery_modules';
  static override idColumn = ['battery_id', 'version', 'id'];
  static override jsonAttributes = ['settings'];
  declare battery_id: number;
  declare version: number;
  declare id: string;
  declare study_id: string;
  declare position: number;
  declare task: string;
  declare name: string;
  declare settings: Record<string, unknown>;
  declare required: boolean;
  declare estimated_minutes: number | null;
}

/** A published version of a battery. */
export class BatteryVersion extends Model {
  static override tableName = 'battery_versions';
  static override idColumn = ['battery_id', 'version'];
  static override jsonAttributes = ['original_users'];
  declare battery_id: number;
  declare version: number;
  declare study_id: string;
  declare name: string;
  declare description: string | null;
  declare published_at: string;
  declare published_by_id: string | null;
}
