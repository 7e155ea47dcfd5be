/** Reinstatement after a mistaken withdrawal: its time, for calendars and the record. */
export const name = '0072-reinstatement';
export const up = `
alter table participants add column reinstated_at timestamptz;
comment on column participants.reinstated_at is 'when the last withdrawal was taken back';
-- The withdrawals that a participant's timeline shows beside the present one.
create index domain_events_participation on domain_events (participant_id, seq) where type in ('PARTICIPANT_WITHDRAWN', 'PARTICIPANT_REINSTATED');
`;
