/**
 * The user who queried a study's capture system, as the API authenticated it: the question only references this row.
 * The host and start of each worker process: a silent one is reported until another takes its place.
 */
export const name = '0090-askers-and-workers';
export const up = `
create table capture_questions (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  user_id uuid not null references users on delete cascade,
  kind varchar(40) not null,
  request_id varchar(36) not null,
  asked_at timestamptz not null default clock_timestamp(),
  -- each is recorded once
  recorded_at timestamptz
);
create index capture_questions_study on capture_questions (study_id, asked_at);
select isolate_by_study('capture_questions');
alter table worker_signs
  add column host varchar(255),
  add column pid integer,
  add column started_at timestamptz not null default clock_timestamp();
`;
