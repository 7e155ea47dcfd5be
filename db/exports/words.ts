/** The service's own words, as stored: the possible values of export columns. */
export const PARTICIPANT_STATUS = ['enrolled', 'withdrawn'];
export const VISIT_STATUS = ['scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'];
export const ADHERENCE = ['early', 'in_window', 'late', 'missed', 'pending', 'cancelled'];
export const SYNC_STATUS = ['pending', 'synced', 'failed'];
export const SESSION_STATUS = ['active', 'completed', 'expired', 'abandoned'];
export const SESSION_ORIGINS = ['online', 'offline'];
export const SUMMARY_SOURCES = ['client', 'computed'];
export const ANCHOR_STATUS = ['unset', 'provisional', 'finalized'];
export const PRECISIONS = ['date', 'datetime', 'partial_year', 'partial_month'];
export const SOURCE_TYPES = [
  'consent_workflow',
  'eligibility_workflow',
  'randomization',
  'form_item',
  'computed_rule',
  'manual_entry',
  'override',
];
export const ANCHOR_EVENTS = [
  'PROPOSED',
  'SET',
  'CHANGED',
  'FINALIZED',
  'OVERRIDE_REQUESTED',
  'OVERRIDE_GRANTED',
  'OVERRIDE_DENIED',
];
export const ACTOR_TYPES = ['user', 'system', 'participant', 'workflow'];
export const SCHEDULING_MODES = ['legacy', 'edc'];
export const VERSION_STATUS = ['active', 'superseded', 'reconciled'];
export const CHANNEL_LABELS = ['email', 'sms', 'push'];
export const MESSAGE_STATUS = ['pending', 'sent', 'failed', 'cancelled', 'suppressed'];
export const DELIVERY_STATUS = ['delivered', 'undelivered'];
export const CONSENT_STATUS = ['pending', 'signed', 'declined', 'revoked'];
export const ELIGIBILITY_STATUS = ['pending', 'eligible', 'ineligible', 'deferred'];
export const FORM_STATUS = ['draft', 'complete', 'signed', 'locked'];
export const SIGNATURES = ['verified', 'not verified'];
export const FORM_ORIGINS = ['service', 'datacapture'];
export const PROVED_BY = ['password', 'totp', 'session', 'claimed'];
