/** Changes of studies that Temporal has received and not completed: a lost workflow is restarted from them. */
export const name = '0040-open-changes';
export const up = `
create table open_study_changes (
  study_id uuid not null references studies on delete cascade,
  change_id varchar(100) not null,
  kind varchar(40) not null,
  actor_user_id uuid,
  begun_at timestamptz not null default clock_timestamp(),
  primary key (study_id, change_id)
);
select isolate_by_study('open_study_changes');
`;
