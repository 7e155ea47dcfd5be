/**
 * Indexes of open work: failed triggers, dates that need an override, open conflicts, visits to review and missed
 * visits.
 */
export const name = '0092-work-to-do';
export const up = `
create index webhook_events_failed on webhook_events (study_id, received_at) where status = 'failed';
create index webhook_events_held on webhook_events (participant_id) where outcome = 'override_required';
create index datacapture_sync_records_held on datacapture_sync_records (participant_id) where outcome = 'override_required';
create index sync_conflicts_open on sync_conflicts (study_id, detected_at) where status = 'open';
create index scheduled_visits_to_review on scheduled_visits (study_id) where needs_review;
create index scheduled_visits_missed on scheduled_visits (window_close) where status = 'missed';
`;
