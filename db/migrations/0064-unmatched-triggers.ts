/** Triggers of projects without a matching study: their number, and nothing of their content. */
export const name = '0064-unmatched-triggers';
export const up = `
-- Of the whole service: they are no study's.
create table unmatched_triggers (
  project_id varchar(100) primary key,
  count bigint not null default 1,
  first_at timestamptz not null default clock_timestamp(),
  last_at timestamptz not null default clock_timestamp()
);
create index unmatched_triggers_last on unmatched_triggers (last_at);
-- A blank at an end of a project id is nobody's intention: no trigger names such a project.
update datacapture_configs set project_id = nullif(btrim(project_id), '') where project_id <> btrim(project_id);
grant select, insert, update, delete on unmatched_triggers to research_app;
`;
