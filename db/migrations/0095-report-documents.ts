/**
 * Documents that users requested in the console: the API process that claims one prints it, and its file is kept for a
 * while for the requester.
 */
export const name = '0095-report-documents';
export const up = `
create table report_documents (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  requested_by_id uuid not null references users on delete cascade,
  request_id varchar(36) not null,
  -- filters, paper and language
  question jsonb not null,
  status varchar(20) not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed', 'expired')),
  progress real not null default 0 check (progress >= 0 and progress <= 1),
  -- the process that prints it says now and then that it still does; the number of the attempt tells one from the next
  attempt integer not null default 0,
  taken_until timestamptz,
  error varchar(60),
  -- of its file: the name, the sites that it tells of, its bytes
  disposition text,
  reach text,
  content bytea,
  created_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  expires_at timestamptz,
  check ((status = 'completed') = (content is not null)),
  check ((status = 'failed') = (error is not null))
);
create index report_documents_user on report_documents (requested_by_id, created_at);
create index report_documents_study on report_documents (study_id);
create index report_documents_open on report_documents (created_at) where status in ('pending', 'running');
select isolate_by_study('report_documents');
`;
