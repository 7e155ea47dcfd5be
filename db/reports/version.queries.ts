import type { Statement } from '../client/one-trip.js';

/** Audit actions of reads, which change no report. A new action counts as a change until it is listed here. */
const READINGS = [
  'report_read',
  'report_printed',
  'data_exported',
  'export_downloaded',
  'study_exported',
  'participant_data_exported',
  'audit_exported',
  'audit_checkpoint_requested',
  'access_refused',
  'login',
];

/** Records of these name the participant, besides those of the participant. */
const OF_PARTICIPANTS = ['visit', 'consent', 'eligibility', 'randomization'];
/** Records of these change no visit: a visit that a session completes has a separate record. */
const WITHOUT_VISITS = ['session', 'notification', 'report', 'export'];
const listed = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');
const READ = listed(READINGS);

/**
 * The participants whose visits may have changed since a version of the study, by the audit records since. Null among
 * them: a record of something else, which may have changed all. A new kind of record counts as such.
 */
export const CHANGED_SINCE = `
  select distinct case when l.resource_type = 'participant' then l.resource_id
      when l.resource_type in (${listed(OF_PARTICIPANTS)}) then l.audit_metadata->>'participant_id'
        end as participant_id
  from audit_log l where l.chain = :study::uuid::text and l.seq > :since and l.action not in (${READ})
    and l.resource_type not in (${listed(WITHOUT_VISITS)})`;

export interface ReportVersion {
  /** The last audit record of a change to the study. */
  version: number;
  /** The sites that the transaction is restricted to. */
  reach: string;
  /** When the next visible session expires. */
  next_expiry: string | null;
}

/** What a study's reports depend on, besides the question and the date: one row. */
export const reportVersionOf = (studyId: string): Statement => ({
  sql: `select coalesce((select seq from audit_log where chain = $1::uuid::text and action not in (${READ})
    order by seq desc limit 1), 0) as version,
      case when app_all_sites() then '*' else app_site_studies()::text || app_sites()::text end as reach,
      (select min(expires_at) from assessment_sessions where study_id = $1::uuid and status = 'active'
        and source = 'online' and expires_at > clock_timestamp()) as next_expiry`,
  values: [studyId],
});
