/**
 * Details of a message to a participant's workflow: free text, and the sender's origin. The message references this
 * row, so that Temporal stores none of it, and an erasure finds it here.
 */
export const name = '0088-message-details';
export const up = `
create table message_details (
  id uuid primary key,
  study_id uuid not null,
  participant_id uuid not null references participants on delete cascade,
  reason text,
  ip_address varchar(45),
  user_agent varchar(500),
  created_at timestamptz not null default clock_timestamp()
);
create index message_details_participant on message_details (participant_id);
select isolate_by_study('message_details');
grant select, insert, delete on message_details to research_app;
-- A worker of an earlier release knows no such row: while one works, messages carry everything.
alter table worker_signs add column reads_details boolean not null default false;
`;
