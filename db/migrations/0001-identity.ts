/** People who work with the service, and the switch that row-level security reads. */
export const name = '0001-identity';
export const up = `
-- The application role owns nothing: it can neither alter a table nor switch its policies off.
do $$ begin
  if not exists (select from pg_roles where rolname = 'research_app') then create role research_app nologin; end if;
end $$;

-- What this transaction may see: '*' (the system itself and admins) or a comma-separated list of study ids.
-- Not set: nothing. A query that forgets its filter shows nothing of another study.
create function app_sees_all() returns boolean language sql stable parallel safe as
  $$ select coalesce(current_setting('app.studies', true), '') = '*' $$;
create function app_studies() returns uuid[] language sql stable parallel safe as
  $$ select case when coalesce(current_setting('app.studies', true), '') in ('', '*') then '{}'::uuid[]
            else string_to_array(current_setting('app.studies', true), ',')::uuid[] end $$;

-- One place that says what isolation is: rows of a table with study_id are seen and written only in scope.
create function isolate_by_study(relation regclass, study_column text default 'study_id') returns void language plpgsql as $$
begin
  execute format('alter table %s enable row level security', relation);
  execute format('alter table %s force row level security', relation);
  execute format(
    'create policy study_isolation on %s using ((select app_sees_all()) or %I = any ((select app_studies())::uuid[]))',
    relation, study_column);
  execute format('grant select, insert, update, delete on %s to research_app', relation);
end $$;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% of % is refused: its records are only inserted', tg_op, tg_table_name using errcode = '42501';
end $$;
-- Records that prove something are only inserted: also the owner needs to drop the trigger first.
create function insert_only(relation regclass) returns void language plpgsql as $$
begin
  execute format('create trigger insert_only before update or delete on %s for each row execute function refuse_change()', relation);
  execute format('create trigger insert_only_truncate before truncate on %s for each statement execute function refuse_change()', relation);
  execute format('revoke update, delete, truncate on %s from research_app', relation);
end $$;

create function touch_updated_at() returns trigger language plpgsql as $$
begin new.updated_at := clock_timestamp(); return new; end $$;

create table users (
  id uuid primary key default gen_random_uuid(),
  email varchar(320) not null,
  name varchar(200) not null,
  role varchar(20) not null check (role in ('admin','researcher','coordinator','investigator','data_manager')),
  status varchar(20) not null default 'active' check (status in ('active','inactive')),
  password_hash text not null,
  failed_logins integer not null default 0,
  locked_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));
create trigger touch before update on users for each row execute function touch_updated_at();

create table refresh_tokens (
  id uuid primary key default gen_random_uuid(),
  family_id uuid not null,
  user_id uuid not null references users on delete cascade,
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  rotated_at timestamptz,
  revoked_at timestamptz
);
create index refresh_tokens_family on refresh_tokens (family_id);
create index refresh_tokens_user on refresh_tokens (user_id);

create table idempotency_keys (
  caller varchar(80) not null,
  method varchar(10) not null,
  path varchar(500) not null,
  key varchar(200) not null,
  body_hash bytea not null,
  status integer,
  headers jsonb,
  body text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (caller, method, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Counters may be lost in a crash: an unlogged table costs no write-ahead log.
create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);

grant select, insert, update, delete on users, refresh_tokens, idempotency_keys, rate_limits to research_app;
`;
