/** Versioned batteries, assessment sessions with submissions, raw trials, offline conflicts, adherence of visits. */
export const name = '0009-assessments';
export const up = `
-- The newest version that was published; what clients are given. Null: nothing was published yet.
alter table batteries add column published_version integer;

-- A published version, as it was then and stays.
create table battery_versions (
  battery_id integer not null references batteries on delete cascade,
  version integer not null check (version >= 1),
  study_id uuid not null references studies on delete cascade,
  name varchar(300) not null,
  description text,
  published_at timestamptz not null default clock_timestamp(),
  published_by_id uuid,
  primary key (battery_id, version)
);
select isolate_by_study('battery_versions');

-- A module keeps its id through the versions of its battery.
create table battery_modules (
  battery_id integer not null references batteries on delete cascade,
  version integer not null,
  id uuid not null default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  position integer not null check (position >= 1),
  task varchar(64) not null,
  name varchar(300) not null,
  settings jsonb not null default '{}',
  required boolean not null default true,
  estimated_minutes numeric(6, 2) not null default 0 check (estimated_minutes >= 0),
  primary key (battery_id, version, id),
  -- checked at the end of a statement, so that one statement can reorder
  constraint battery_modules_position unique (battery_id, version, position) deferrable initially immediate
);
select isolate_by_study('battery_modules');

-- A published version never changes, whatever the code above says. Only the whole battery can go.
create function refuse_published_change() returns trigger language plpgsql as $$
declare r record := case when tg_op = 'INSERT' then new else old end;
begin
  if exists (select from battery_versions v join batteries b on b.id = v.battery_id where v.battery_id = r.battery_id and v.version = r.version) then
    raise exception '% of % is refused: version % of the battery is published', tg_op, tg_table_name, r.version using errcode = '42501';
  end if;
  return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger published_stays before insert or update or delete on battery_modules for each row execute function refuse_published_change();
create trigger published_stays before update or delete on battery_versions for each row execute function refuse_published_change();

create table assessment_sessions (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  site_id uuid references sites,
  participant_id uuid not null references participants,
  visit_id uuid references scheduled_visits on delete set null,
  battery_id integer references batteries,
  battery_version integer,
  language varchar(35),
  status varchar(20) not null default 'active' check (status in ('active','completed','expired','abandoned')),
  source varchar(20) not null default 'online' check (source in ('online','offline')),
  -- what a device called it before the server knew of it
  local_id varchar(200),
  device_id varchar(200),
  -- how far the device's clock was ahead of ours when it sent the session; negative: behind
  clock_skew_ms bigint,
  -- what the device said of an offline session, as one hash: the same again is a duplicate, other content a conflict
  content_hash char(64),
  -- the same without how it ended: an unfinished session that is sent again finished goes on
  start_hash char(64),
  started_by_id uuid,
  started_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  completed_at timestamptz,
  timezone varchar(50),
  sync_status varchar(20) check (sync_status in ('pending','synced','failed')),
  synced_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check ((status = 'completed') = (completed_at is not null)),
  check (source = 'online' or (local_id is not null and content_hash is not null)),
  check (source = 'offline' or expires_at is not null)
);
create unique index assessment_sessions_local on assessment_sessions (study_id, local_id) where local_id is not null;
create index assessment_sessions_by_local on assessment_sessions (local_id) where local_id is not null;
create index assessment_sessions_listing on assessment_sessions (study_id, started_at, id);
create index assessment_sessions_participant on assessment_sessions (participant_id, started_at);
create index assessment_sessions_visit on assessment_sessions (visit_id) where visit_id is not null;
create index assessment_sessions_expiring on assessment_sessions (expires_at) where status = 'active' and source = 'online';
create trigger touch before update on assessment_sessions for each row execute function touch_updated_at();
select isolate_by_study('assessment_sessions');

-- What a session's task gave: the client's summary, ours from the raw trials, and what stands out. One row a task,
-- written once; a conflict that is resolved for the other side is the only thing that changes it.
create table session_tasks (
  session_id uuid not null references assessment_sessions on delete cascade,
  task varchar(64) not null,
  study_id uuid not null,
  -- the response's id on the device, when it came by a sync
  local_id varchar(200),
  summary jsonb not null,
  computed_summary jsonb not null,
  summary_difference jsonb not null default '{}',
  quality_flags jsonb not null default '[]',
  warnings jsonb not null default '[]',
  trial_count integer not null,
  content_hash char(64) not null,
  submitted_at timestamptz not null default clock_timestamp(),
  primary key (session_id, task)
);
create unique index session_tasks_local on session_tasks (session_id, local_id) where local_id is not null;
create index session_tasks_study on session_tasks (study_id, task);
select isolate_by_study('session_tasks');

-- Raw trials, for millions: a row holds up to a thousand trials of one task as columns of values. A task of a
-- submission is one row to write instead of a thousand, takes 22 bytes a trial with its index instead of 184 (measured),
-- and is read back in the order it was sent. In partitions, so that vacuum and indexes stay small.
create table raw_trial_chunks (
  session_id uuid not null,
  task varchar(64) not null,
  chunk integer not null,
  study_id uuid not null,
  trials integer not null,
  trial_index integer[] not null,
  rt double precision[] not null,
  correct boolean[] not null,
  at timestamptz[] not null,
  -- what else a client says of a trial (stimulus, answer, …); null: nothing of any
  data jsonb,
  primary key (session_id, task, chunk),
  check (cardinality(trial_index) = trials and cardinality(rt) = trials and cardinality(correct) = trials and cardinality(at) = trials)
) partition by hash (session_id);
do $$ begin
  for i in 0..15 loop
    execute format('create table raw_trial_chunks_%s partition of raw_trial_chunks for values with (modulus 16, remainder %s)', i, i);
    -- Reached through the partitioned table alone: a partition that is named directly shows nothing.
    execute format('alter table raw_trial_chunks_%s enable row level security', i);
    execute format('alter table raw_trial_chunks_%s force row level security', i);
  end loop;
end $$;
alter table raw_trial_chunks add foreign key (session_id) references assessment_sessions on delete cascade;
select isolate_by_study('raw_trial_chunks');

-- What an offline device sent and the server did not take, or took beside what it had: both are kept.
create table sync_conflicts (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants,
  kind varchar(10) not null check (kind in ('session','response')),
  conflict_type varchar(40) not null check (conflict_type in ('duplicate_session','duplicate_response','visit_already_completed','participant_withdrawn','battery_version_mismatch')),
  resolution varchar(20) not null check (resolution in ('server_wins','both_kept')),
  local_id varchar(200) not null,
  session_id uuid references assessment_sessions,
  task varchar(64),
  message text not null,
  -- the item as the device sent it, and what stood on the server then
  local_content jsonb not null,
  server_content jsonb,
  content_hash char(64) not null,
  status varchar(10) not null default 'open' check (status in ('open','resolved')),
  keep varchar(10) check (keep in ('server','local','both')),
  reason text,
  resolved_by_id uuid,
  resolved_at timestamptz,
  detected_at timestamptz not null default clock_timestamp(),
  check ((status = 'resolved') = (resolved_at is not null)),
  check ((status = 'resolved') = (keep is not null and reason is not null and resolved_by_id is not null))
);
-- The same item sent again is the same conflict.
create unique index sync_conflicts_once on sync_conflicts (study_id, kind, conflict_type, local_id, content_hash);
create index sync_conflicts_listing on sync_conflicts (study_id, seq desc);
create index sync_conflicts_participant on sync_conflicts (participant_id);
select isolate_by_study('sync_conflicts');

-- How well a visit kept to its window, on the calendar of the participant's site or study.
create function visit_adherence(p_status text, p_completed_at timestamptz, p_open date, p_close date, p_zone text) returns text language sql stable parallel safe as $$
  select case p_status
    when 'completed' then case when (p_completed_at at time zone p_zone)::date < p_open then 'early' when (p_completed_at at time zone p_zone)::date > p_close then 'late' else 'in_window' end
    when 'missed' then 'missed'
    when 'cancelled' then 'cancelled'
    when 'scheduled' then 'pending'
    when 'open' then 'pending'
  end $$;

-- The hourly move of visits looks at those alone that may be due.
create index scheduled_visits_to_open on scheduled_visits (window_open) where status = 'scheduled';
create index scheduled_visits_to_miss on scheduled_visits (window_close) where status = 'open';
`;
