/** The capture system: its configuration, the triggers it sends, the last reading of each record. */
export const name = '0005-capture';
export const up = `
create table datacapture_configs (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null unique references studies on delete cascade,
  api_url text not null,
  api_token_encrypted text not null,
  project_id varchar(100),
  enrollment_instrument varchar(200),
  enrollment_event varchar(200),
  participant_field_mapping jsonb not null default '{}',
  event_battery_mapping jsonb not null default '{}',
  data_field_mapping jsonb not null default '{}',
  webhook_enabled boolean not null default false,
  webhook_secret_encrypted text,
  webhook_auth varchar(10) not null default 'header' check (webhook_auth in ('header','url')),
  poll_interval_minutes integer not null default 60 check (poll_interval_minutes >= 0),
  last_webhook_received timestamptz,
  last_sync_at timestamptz,
  sync_status varchar(20) not null default 'pending' check (sync_status in ('pending','active','error')),
  sync_error_message text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index datacapture_configs_project on datacapture_configs (project_id);
create trigger touch before update on datacapture_configs for each row execute function touch_updated_at();
select isolate_by_study('datacapture_configs');

create table webhook_events (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  study_id uuid not null references studies on delete cascade,
  project_id varchar(100) not null,
  record varchar(500) not null,
  instrument varchar(200) not null,
  event_name varchar(200),
  data_access_group varchar(200),
  repeat_instance varchar(20),
  raw_body_hash bytea not null,
  status varchar(20) not null default 'received' check (status in ('received','processing','processed','duplicate','failed')),
  outcome varchar(40),
  error text,
  duplicate_of_id uuid references webhook_events,
  participant_id uuid references participants on delete set null,
  attempt integer not null default 0,
  received_at timestamptz not null default clock_timestamp(),
  processed_at timestamptz,
  check ((status = 'duplicate') = (duplicate_of_id is not null))
);
create index webhook_events_listing on webhook_events (study_id, seq desc);
create index webhook_events_body on webhook_events (study_id, raw_body_hash, received_at);
select isolate_by_study('webhook_events');

-- What the capture system last said of a record, and who is reading it now (one at a time, by lease).
create table datacapture_records (
  study_id uuid not null references studies on delete cascade,
  record varchar(500) not null,
  content_hash char(64),
  read_at timestamptz,
  lease_owner uuid,
  lease_until timestamptz,
  primary key (study_id, record)
);
select isolate_by_study('datacapture_records');
`;
