/** The basis of a reopened anchor; polls of less than a minute; a request without a decision is denied. */
export const name = '0030-resting-anchors';
export const up = `
-- Sources and prerequisites as they stood at an override-back: while they are the same the anchor rests.
alter table anchor_dates add column reopened_facts text;

alter table datacapture_configs alter column poll_interval_minutes type double precision;

update override_requests set status = 'denied' where status = 'expired';
alter table override_requests drop constraint override_requests_status_check;
alter table override_requests add constraint override_requests_status_check check (status in ('pending', 'approved', 'denied'));
`;
