/** Pushes of results to the capture system: pending pushes, every attempt, the circuit breaker, locks of records. */
export const name = '0016-push';
export const up = `
-- One row for each session whose results are to stand in the capture system.
create table result_pushes (
  session_id uuid primary key references assessment_sessions on delete cascade,
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  -- pending: no attempt has ended since it was asked for; waiting: failed, to be repeated; failed: for good, until somebody asks again
  status varchar(10) not null default 'pending' check (status in ('pending','waiting','synced','failed','skipped')),
  -- how often it was asked for (the session's end, results that came later, a person), and how much of that is done
  requested integer not null default 1,
  done integer not null default 0,
  requested_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  -- in a row: attempts that the capture system failed, and waits on the open breaker
  failures integer not null default 0,
  waits integer not null default 0,
  -- an import was sent and its answer is not known: the record is read back before it is sent again
  unanswered boolean not null default false,
  -- the attempt that is under way or was last: the end of an older one that was given up for dead counts no more
  attempt_id uuid,
  error_type varchar(20),
  message text,
  next_attempt_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  check (done <= requested),
  check ((status = 'waiting') = (next_attempt_at is not null))
);
create index result_pushes_failed on result_pushes (study_id, updated_at) where status in ('waiting','failed');
create index result_pushes_open on result_pushes (coalesce(next_attempt_at, requested_at)) where status in ('pending','waiting');
create trigger touch before update on result_pushes for each row execute function touch_updated_at();
select isolate_by_study('result_pushes');

create table push_attempts (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  session_id uuid not null references assessment_sessions on delete cascade,
  study_id uuid not null references studies on delete cascade,
  visit_id uuid,
  number integer not null,
  status varchar(10) not null check (status in ('success','failed','skipped')),
  error_type varchar(20),
  message text,
  records_imported integer,
  -- an earlier attempt whose answer was lost had written it
  already_there boolean not null default false,
  started_at timestamptz not null,
  at timestamptz not null default clock_timestamp(),
  -- when it was to be repeated, as planned at its end
  next_attempt_at timestamptz,
  unique (session_id, number),
  check ((status = 'failed') = (error_type is not null)),
  check ((status = 'success') = (records_imported is not null))
);
select isolate_by_study('push_attempts');
-- What was tried stays as it was; it goes with its session only.
revoke update, truncate on push_attempts from research_app;

-- The breaker of a configuration, one for all workers.
create table datacapture_breakers (
  study_id uuid primary key references datacapture_configs (study_id) on delete cascade,
  -- of the address and token that it speaks of: another capture system starts closed
  connection char(64) not null,
  state varchar(10) not null default 'closed' check (state in ('closed','open','half_open')),
  consecutive_failures integer not null default 0,
  opened_at timestamptz,
  next_attempt_at timestamptz,
  last_error text,
  -- the one attempt that tries whether the capture system is back, and until when it is believed to live
  probe uuid,
  probe_until timestamptz,
  check ((state = 'half_open') = (probe is not null)),
  check ((state = 'closed') = (opened_at is null))
);
select isolate_by_study('datacapture_breakers');

-- Who writes to a record's event now, by lease: one push at a time, whichever worker runs it.
create table push_targets (
  study_id uuid not null references studies on delete cascade,
  record varchar(500) not null,
  event varchar(200) not null,
  lease_owner uuid,
  lease_until timestamptz,
  primary key (study_id, record, event)
);
select isolate_by_study('push_targets');
`;
