/** Imported files of participants: the hash detects a repeated file; the progress of a long import. */
export const name = '0038-imports';
export const up = `
create table participant_imports (
  study_id uuid not null references studies on delete cascade,
  id uuid not null,
  requested_by_id uuid not null,
  format varchar(10) not null check (format in ('csv', 'excel')),
  sha256 char(64) not null,
  dry_run boolean not null,
  mode varchar(10) not null check (mode in ('insert', 'upsert')),
  status varchar(20) not null default 'running' check (status in ('running', 'completed', 'failed')),
  phase varchar(20) not null default 'reading' check (phase in ('reading', 'deciding', 'writing', 'recording', 'done')),
  progress real not null default 0 check (progress between 0 and 1),
  total_rows integer,
  imported_count integer,
  updated_count integer,
  skipped_count integer,
  error_count integer,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  -- By study: ids are of the callers’ choice.
  primary key (study_id, id),
  check (status <> 'completed' or (total_rows is not null and imported_count is not null and completed_at is not null))
);
create index participant_imports_study on participant_imports (study_id, created_at, id);
create index participant_imports_file on participant_imports (study_id, sha256);
select isolate_by_study('participant_imports');
`;
