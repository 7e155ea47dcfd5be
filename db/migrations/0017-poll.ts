/** Reading a whole capture system: syncs and polls, their findings, and low-priority starts of workflows. */
export const name = '0017-poll';
export const up = `
alter table datacapture_configs
  add column create_missing_sites boolean not null default false,
  -- When the last complete reading of changes began; null: the next one reads everything.
  add column polled_at timestamptz;

-- What is worth knowing of a trigger that was processed all the same: [{code, message}].
alter table webhook_events add column warnings jsonb not null default '[]';

-- content_hash is of everything that a trigger's reading shows; reading_hash of what the service takes from it, which a
-- sync, that asks for no more than that, can compare. Where a sync was the last to read, content_hash is null.
alter table datacapture_records
  add column reading_hash char(64),
  add column vanished_at timestamptz;

-- Messages that give way to all others.
alter table outbox add column patient boolean not null default false;
create index outbox_patient on outbox (available_at, id) where patient;

-- One reading of a study's records: asked for (sync), or by the schedule (poll).
create table datacapture_syncs (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  kind varchar(10) not null check (kind in ('sync','poll')),
  status varchar(20) not null default 'running' check (status in ('running','completed','failed')),
  requested_by_id uuid references users,
  changed_since timestamptz,
  listed boolean not null default false,
  records_total integer not null default 0,
  error_code varchar(60),
  error text,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  counts jsonb not null default '{}',
  check ((status = 'running') = (finished_at is null))
);
create unique index datacapture_syncs_running on datacapture_syncs (study_id, kind) where status = 'running';
create index datacapture_syncs_listing on datacapture_syncs (study_id, started_at desc);
select isolate_by_study('datacapture_syncs');

-- The records of a reading while it goes on; afterwards those that there is something to tell of.
create table datacapture_sync_records (
  sync_id uuid not null references datacapture_syncs on delete cascade,
  study_id uuid not null references studies on delete cascade,
  record varchar(500) not null,
  position integer not null,
  outcome varchar(40),
  participant_id uuid references participants on delete set null,
  issues jsonb not null default '[]',
  primary key (sync_id, record)
);
create index datacapture_sync_records_open on datacapture_sync_records (sync_id, position) where outcome is null;
create index datacapture_sync_records_participant on datacapture_sync_records (participant_id);
select isolate_by_study('datacapture_sync_records');
`;
