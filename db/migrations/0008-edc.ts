/** Scheduling mode `edc`: event definitions, their instances, holiday calendars; and simulations of a study. */
export const name = '0008-edc';
export const up = `
create table event_definitions (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  event_oid varchar(200) not null,
  name varchar(300) not null,
  target_day integer not null,
  window_before integer not null default 0 check (window_before >= 0),
  window_after integer not null default 7 check (window_after >= 0),
  battery_id integer references batteries,
  is_baseline boolean not null default false,
  repeat_count integer check (repeat_count >= 1),
  repeat_every_days integer check (repeat_every_days >= 1),
  datacapture_event varchar(200),
  sort_order integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (study_id, event_oid),
  check ((repeat_count is null) = (repeat_every_days is null))
);
create trigger touch before update on event_definitions for each row execute function touch_updated_at();
select isolate_by_study('event_definitions');

create table holiday_calendars (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  -- null: of the whole study
  site_id uuid references sites on delete cascade,
  name varchar(200) not null,
  is_default boolean not null default false,
  weekend_days jsonb not null default '[6, 7]',
  holidays jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (study_id, name),
  check (not is_default or site_id is null)
);
create unique index holiday_calendars_one_default on holiday_calendars (study_id) where is_default;
create unique index holiday_calendars_one_per_site on holiday_calendars (site_id) where site_id is not null;
create trigger touch before update on holiday_calendars for each row execute function touch_updated_at();
select isolate_by_study('holiday_calendars');

-- A study event instance is a scheduled visit that comes of an event definition. It keeps the event's name when the
-- definition is deleted: older versions stay readable.
alter table scheduled_visits
  add column event_definition_id uuid references event_definitions on delete set null,
  add column event_oid varchar(200),
  add column event_occurrence integer check (event_occurrence >= 1),
  add check ((event_oid is null) = (event_occurrence is null)),
  add check (event_definition_id is null or (event_occurrence is not null and visit_window_id is null));
create index scheduled_visits_event on scheduled_visits (event_definition_id) where event_definition_id is not null;

create table simulations (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  status varchar(20) not null default 'pending' check (status in ('pending','running','completed','failed')),
  participants integer not null,
  months integer not null,
  seed bigint not null,
  -- as text: the same simulation is the same bytes, and jsonb would put the keys in an order of its own
  inputs json not null,
  progress real not null default 0 check (progress between 0 and 1),
  result json,
  result_sha256 char(64),
  error varchar(500),
  requested_by_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  check ((status = 'completed') = (result is not null)),
  check ((status in ('completed','failed')) = (completed_at is not null))
);
create index simulations_study on simulations (study_id, created_at);
create trigger touch before update on simulations for each row execute function touch_updated_at();
select isolate_by_study('simulations');
`;
