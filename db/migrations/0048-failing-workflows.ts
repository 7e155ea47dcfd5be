/** Runs whose workflow task fails repeatedly, as the worker's check of Temporal found them. */
export const name = '0048-failing-workflows';
export const up = `
-- Of the whole service, as Temporal is: ids and kinds of faults, nothing of a study.
create table failing_workflows (
  run_id uuid primary key,
  workflow_id text not null,
  workflow_type text not null,
  problem text not null,
  found_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);
grant select, insert, update, delete on failing_workflows to research_app;
`;
