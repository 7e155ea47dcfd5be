import { Model } from 'objection';
import { Row } from './base.js';

export class Study extends Row {
  static override tableName = 'studies';
  static override jsonAttributes = ['config'];
  declare study_code: string;
  declare study_name: string;
  declare description: string | null;
  declare status: 'draft' | 'active' | 'paused' | 'completed' | 'archived';
  declare start_date: string | null;
  declare end_date: string | null;
  declare timezone: string;
  declare integration_mode: 'standalone' | 'datacapture';
  declare datacapture_enabled: boolean;
  declare consent_mode: 'none' | 'external' | 'econsent';
  declare config: Record<string, unknown>;
  declare policy_version: number;
  static override relationMappings = () => ({
    sites: {
      relation: Model.HasManyRelation,
      modelClass: Site,
      join: { from: 'studies.id', to: 'sites.study_id' },
    },
    participants: {
      relation: Model.HasManyRelation,
      modelClass: Participant,
      join: { from: 'studies.id', to: 'participants.study_id' },
    },
    windows: {
      relation: Model.HasManyRelation,
      modelClass: VisitWindow,
      join: { from: 'studies.id', to: 'visit_windows.study_id' },
    },
    policies: {
      relation: Model.HasManyRelation,
      modelClass: EnrollmentPolicy,
      join: { from: 'studies.id', to: 'enrollment_policies.study_id' },
    },
  });
}

/** A version of a study's enrollment policy. */
export class EnrollmentPolicy extends Model {
  static override tableName = 'enrollment_policies';
  static override idColumn = ['study_id', 'policy_version'];
  static override jsonAttributes = ['policy', 'original_users'];
  declare study_id: string;
  declare policy_version: number;
  declare policy: object;
  declare author_id: string | null;
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
  declare created_at: string;
}

export class Site extends Row {
  static override tableName = 'sites';
  declare study_id: string;
  declare site_code: string;
  declare name: string | null;
  declare timezone: string | null;
  declare status: 'active' | 'inactive';
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'sites.study_id', to: 'studies.id' },
    },
  });
}

export class Participant extends Row {
  static override tableName = 'participants';
  declare study_id: string;
  declare participant_code: string;
  declare external_id: string | null;
  declare site_id: string | null;
  declare preferred_language: string | null;
  declare status: 'enrolled' | 'withdrawn';
  declare enrollment_date: string | null;
  declare email: string | null;
  declare phone: string | null;
  declare timezone: string | null;
  declare date_of_birth: string | null;
  declare arm: string | null;
  declare withdrawn_at: string | null;
  declare withdrawal_reason: string | null;
  declare reinstated_at: string | null;
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'participants.study_id', to: 'studies.id' },
    },
    site: {
      relation: Model.BelongsToOneRelation,
      modelClass: Site,
      join: { from: 'participants.site_id', to: 'sites.id' },
    },
    consents: {
      relation: Model.HasManyRelation,
      modelClass: Consent,
      join: { from: 'participants.id', to: 'consents.participant_id' },
    },
    eligibility: {
      relation: Model.HasManyRelation,
      modelClass: Eligibility,
      join: { from: 'participants.id', to: 'eligibility_assessments.participant_id' },
    },
    forms: {
      relation: Model.HasManyRelation,
      modelClass: FormInstance,
      join: { from: 'participants.id', to: 'form_instances.participant_id' },
    },
    visits: {
      relation: Model.HasManyRelation,
      modelClass: ScheduledVisit,
      join: { from: 'participants.id', to: 'scheduled_visits.participant_id' },
    },
  });
}

export class Consent extends Row {
  static override tableName = 'consents';
  static override jsonAttributes = ['original_users'];
  declare study_id: string;
  declare participant_id: string;
  declare consent_version_id: string | null;
  declare status: 'pending' | 'signed' | 'declined' | 'revoked';
  declare signed_at: string | null;
  declare revoked_at: string | null;
  declare purpose: string | null;
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
}

export class Eligibility extends Row {
  static override tableName = 'eligibility_assessments';
  static override jsonAttributes = [
    'inclusion_criteria',
    'exclusion_criteria',
    'waiver_criteria_ids',
    'source_documents',
    'original_users',
  ];
  declare study_id: string;
  declare participant_id: string;
  declare status: 'pending' | 'eligible' | 'ineligible' | 'deferred';
  declare inclusion_criteria: Record<string, unknown>;
  declare exclusion_criteria: Record<string, unknown>;
  declare confirmed_at: string | null;
  declare confirmed_by_id: string | null;
  declare has_waiver: boolean;
  declare waiver_criteria_ids: string[];
  declare waiver_reason: string | null;
  declare waiver_requested_by_id: string | null;
  declare waiver_approved_by_id: string | null;
  declare waiver_approved_at: string | null;
  declare source_documents: unknown[];
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
}

export class Randomization extends Model {
  static override tableName = 'randomizations';
  static override jsonAttributes = ['original_users'];
  declare id: string;
  declare study_id: string;
  declare participant_id: string;
  declare arm: string;
  declare randomized_at: string;
  declare stratum: string | null;
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
  declare created_at: string;
}

/** The content of an electronic signature besides the signer. `claimed`: a message stated it, without this service. */
export interface Signature {
  meaning: string;
  /** The signer's printed name. */
  name: string;
  signed_at: string;
  proved_by: 'password' | 'totp' | 'session' | 'claimed';
}

export class FormInstance extends Row {
  static override tableName = 'form_instances';
  static override jsonAttributes = ['items', 'signature', 'original_users'];
  declare study_id: string;
  declare participant_id: string;
  declare form_oid: string;
  declare status: 'draft' | 'complete' | 'signed' | 'locked';
  declare items: Record<string, unknown>;
  declare signed_at: string | null;
  declare signed_by_id: string | null;
  declare signature: Signature | null;
  declare locked_at: string | null;
  declare origin: 'service' | 'datacapture';
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
  declare signature_verified: boolean | null;
}

export class VisitWindow extends Row {
  static override tableName = 'visit_windows';
  declare study_id: string;
  declare code: string;
  declare name: string;
  declare battery_id: number | null;
  declare target_day: number;
  declare window_before: number;
  declare window_after: number;
  declare is_baseline: boolean;
  declare datacapture_event: string | null;
  declare sort_order: number;
}

/** The dates of a visit. */
export interface VisitDays {
  target_date: string;
  window_open: string;
  window_close: string;
}
/** The parts of a visit that a user may change. */
export type VisitContent = Partial<Pick<ScheduledVisit, 'name' | 'battery_id' | 'datacapture_event'>>;

export class ScheduledVisit extends Row {
  static override jsonAttributes = ['moved_from', 'changed_from', 'original_users'];
  static override tableName = 'scheduled_visits';
  declare visit_key: string;
  declare study_id: string;
  declare participant_id: string;
  declare visit_window_id: string | null;
  declare schedule_version_id: string | null;
  declare name: string;
  declare battery_id: number | null;
  declare target_date: string;
  declare window_open: string;
  declare window_close: string;
  declare datacapture_event: string | null;
  declare is_baseline: boolean;
  declare status: 'scheduled' | 'open' | 'completed' | 'missed' | 'superseded' | 'cancelled';
  declare status_reason: string | null;
  declare completed_at: string | null;
  declare session_id: string | null;
  declare data_sync_status: 'pending' | 'synced' | 'failed' | null;
  declare synced_at: string | null;
  declare anchor_reconciled: boolean;
  declare anchor_reconciled_at: string | null;
  declare needs_review: boolean;
  declare reporting_target_date: string | null;
  declare reviewed_at: string | null;
  declare reviewed_by_id: string | null;
  declare review_resolution: string | null;
  declare cancelled_by_hand: boolean;
  declare imported: boolean;
  declare imported_by: string | null;
  declare original_users: Record<string, string> | null;
  /** The dates of its schedule before a user moved it. */
  declare moved_from: VisitDays | null;
  /** The content of its schedule before a user changed it. */
  declare changed_from: VisitContent | null;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'scheduled_visits.participant_id', to: 'participants.id' },
    },
    window: {
      relation: Model.BelongsToOneRelation,
      modelClass: VisitWindow,
      join: { from: 'scheduled_visits.visit_window_id', to: 'visit_windows.id' },
    },
  });
}
