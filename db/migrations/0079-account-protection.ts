/** Failed logins by origin, and notices to users about their accounts. */
export const name = '0079-account-protection';
export const up = `
create table login_failures (
  user_id uuid not null references users on delete cascade,
  -- digest of an address, of a device that logged in before, or of a login that proves identity again
  origin varchar(64) not null,
  failures integer not null default 0,
  locked_until timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (user_id, origin)
);
create table account_notices (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  kind varchar(40) not null check (kind in ('password_changed', 'mfa_enabled', 'mfa_disabled', 'mfa_reset', 'recovery_code_used', 'recovery_codes_renewed', 'new_device', 'api_token_created', 'account_locked', 'reauthentication_locked')),
  -- emptied when it is sent
  details jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz
);
create index account_notices_user on account_notices (user_id, kind, created_at);
grant select, insert, update, delete on login_failures, account_notices to research_app;

-- A browser's name without its versions: an update does not make another device of it.
create function device_name(agent text) returns text language sql immutable parallel safe as
  $$ select regexp_replace(coalesce(agent, ''), '[0-9][0-9._]*', '', 'g') $$;
`;
