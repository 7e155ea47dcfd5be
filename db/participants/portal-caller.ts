/** The current state of a portal token's participant. */
export interface PortalCallerRow {
  id: string;
  study_id: string;
  site_id: string | null;
  participant_code: string;
  preferred_language: string | null;
  status: 'enrolled' | 'withdrawn';
  /** The login of its token was ended. */
  login_ended?: boolean | null;
}
