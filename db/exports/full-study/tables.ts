/**
 * The tables of a study in a full export, in the order in which they are loaded. A new table of a study belongs here,
 * or into LEFT_OUT with the reason.
 */
export interface StudyTable {
  name: string;
  /** The order of its rows: that of creation, where it is part of the record. */
  order: string;
  /** Columns that are not exported. */
  without?: readonly string[];
  /** The number of rows loaded at a time. */
  batch?: number;
}

export const studyTables: readonly StudyTable[] = [
  { name: 'sites', order: 'site_code' },
  { name: 'batteries', order: 'code' },
  // Before the versions: nothing can be added to a published one.
  { name: 'battery_modules', order: 'battery_id, version, position' },
  { name: 'battery_versions', order: 'battery_id, version' },
  { name: 'visit_windows', order: 'code' },
  { name: 'event_definitions', order: 'event_oid' },
  { name: 'holiday_calendars', order: 'name' },
  { name: 'enrollment_policies', order: 'policy_version' },
  // Secrets are never exported; the state of the last connection does not apply to the next.
  {
    name: 'datacapture_configs',
    order: 'id',
    without: [
      'api_token_encrypted',
      'webhook_secret_encrypted',
      'last_webhook_received',
      'last_sync_at',
      'sync_status',
      'sync_error_message',
      'polled_at',
    ],
  },
  { name: 'participants', order: 'created_at, participant_code' },
  { name: 'caregivers', order: 'created_at, id', without: ['session_epoch'] },
  { name: 'caregiver_participants', order: 'created_at, caregiver_id, participant_id' },
  { name: 'consents', order: 'created_at, id' },
  { name: 'eligibility_assessments', order: 'created_at, id' },
  { name: 'randomizations', order: 'created_at, id' },
  { name: 'form_instances', order: 'created_at, id' },
  { name: 'manual_anchor_entries', order: 'entered_at, id' },
  { name: 'anchor_dates', order: 'created_at, id' },
  { name: 'anchor_date_history', order: 'seq', without: ['seq'] },
  { name: 'anchor_decisions', order: 'history_id', batch: 100 },
  { name: 'override_requests', order: 'requested_at, id', without: ['offered_signatures'] },
  // Later ones first: an earlier one references its replacement.
  { name: 'schedule_versions', order: 'version_number desc, generated_at, id' },
  { name: 'scheduled_visits', order: 'created_at, target_date, id' },
  { name: 'visit_states', order: 'seq', without: ['seq'] },
  { name: 'assessment_sessions', order: 'started_at, id' },
  { name: 'session_tasks', order: 'session_id, task', batch: 100 },
  { name: 'raw_trial_chunks', order: 'session_id, task, chunk', batch: 10 },
  { name: 'sync_conflicts', order: 'seq', without: ['seq'], batch: 50 },
  { name: 'domain_events', order: 'seq', without: ['seq', 'tx'] },
  { name: 'notification_opt_outs', order: 'created_at, participant_id, channel' },
  { name: 'notifications', order: 'created_at, id', without: ['draft', 'claimed_until', 'claimed_by'] },
  { name: 'webhook_events', order: 'seq', without: ['seq'] },
];

/** Tables of a study that are not exported: the service's bookkeeping, secrets, and derived data. */
export const LEFT_OUT: Record<string, string> = {
  calendar_feeds: 'addresses of this service',
  anchor_commands: 'answers to messages that were sent to this service',
  capture_questions: 'asked by people of this service',
  audit_chains: 'heads of the chains, as the log that they belong to',
  audit_log: 'in the document to be read; a chain cannot be loaded into another',
  dead_addresses: 'what this service was told of them',
  datacapture_breakers: 'state of a connection',
  datacapture_records: 'leases, and what was last read there',
  datacapture_sync_records: 'readings of the capture system by this service',
  datacapture_syncs: 'readings of the capture system by this service',
  event_deliveries: 'sent by this service',
  event_subscriptions: 'secrets',
  exports: 'files of this service',
  outbox: 'messages of this service that are on their way',
  participant_imports: 'files that were sent to this service',
  message_details: 'of messages that were sent to this service',
  open_study_changes: 'work of this service that goes on',
  portal_links: 'secrets',
  portal_refresh_tokens: 'secrets',
  policy_trials: 'computed from the rest',
  push_attempts: 'made by this service',
  push_targets: 'made by this service',
  push_tokens: 'devices, as this service reaches them',
  report_documents: 'files of this service',
  result_pushes: 'made by this service',
  simulations: 'computed from the rest',
  study_pseudonym_keys: 'secrets',
  study_templates: 'made from a study, and no part of it',
  user_studies: 'people of this service',
};

/** Tables that the target keeps, or a load sets. */
export const ofTarget: ReadonlySet<string> = new Set([
  'id',
  'study_code',
  'study_name',
  'created_at',
  'datacapture_enabled',
]);
/** Columns of `studies` that are part of the export; code and name are the target’s. */
export const EXPORTED_STUDY_COLUMNS = [
  'id',
  'study_code',
  'study_name',
  'description',
  'status',
  'start_date',
  'end_date',
  'timezone',
  'integration_mode',
  'datacapture_enabled',
  'consent_mode',
  'config',
  'policy_version',
  'created_at',
] as const;
