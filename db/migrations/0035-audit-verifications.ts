/** Audit chains are verified in the background, in parts. */
export const name = '0035-audit-verifications';
export const up = `
-- One verification of a chain, or of every chain; what it has to go on with stands in \`state\`.
create table audit_verifications (
  id uuid primary key default gen_random_uuid(),
  chain varchar(64),
  status varchar(20) not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed')),
  requested_by_id uuid references users on delete set null,
  rows_verified bigint not null default 0,
  rows_total bigint not null default 0,
  chains_verified integer not null default 0,
  chains_total integer not null default 0,
  state jsonb,
  result jsonb,
  error varchar(500),
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  check ((status = 'completed') = (result is not null))
);
grant select, insert, update on audit_verifications to research_app;
`;
