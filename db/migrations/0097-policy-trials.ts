/**
 * Dry runs of a policy over a large study: any API process shows the progress and result of one that another computes.
 */
export const name = '0097-policy-trials';
export const up = `
create table policy_trials (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  requested_by_id uuid not null references users on delete cascade,
  -- the policy as typed
  policy_text text not null,
  status varchar(20) not null default 'running' check (status in ('running', 'completed', 'failed')),
  seen integer not null default 0,
  total integer not null,
  -- the process that computes it says now and then that it still does
  alive_until timestamptz not null,
  result jsonb,
  created_at timestamptz not null default clock_timestamp(),
  check ((status = 'completed') = (result is not null))
);
create index policy_trials_study on policy_trials (study_id, requested_by_id);
create index policy_trials_user on policy_trials (requested_by_id);
create index policy_trials_created on policy_trials (created_at);
select isolate_by_study('policy_trials');
`;
