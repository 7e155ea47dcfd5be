import type { Statement } from '../client/one-trip.js';

/** Audit actions of reads, which change no report. A new action counts as a change until it is listed here. */
const READINGS = [
  'report_read',
  'report_printed',
  'data_exported',
  'study_exported',
  'participant_data_exported',
  'audit_exported',
  'audit_checkpoint_requested',
  'access_refused',
  'login',
];

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
  sql: `select coalesce((select seq from audit_log
    where chain = $1::uuid::text and action not in (${READINGS.map((action) => `'${action}'`).join(', ')})
    order by seq desc limit 1), 0) as version,
      case when app_all_sites() then '*' else app_site_studies()::text || app_sites()::text end as reach,
      (select min(expires_at) from assessment_sessions where study_id = $1::uuid and status = 'active'
        and source = 'online' and expires_at > clock_timestamp()) as next_expiry`,
  values: [studyId],
});
