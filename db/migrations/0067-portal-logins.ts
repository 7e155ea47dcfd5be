/** Persistent portal logins: refresh tokens of participants and caregivers, rotated at every use. */
export const name = '0067-portal-logins';
export const up = `
create table portal_refresh_tokens (
  id uuid primary key default gen_random_uuid(),
  -- the login: every token that came of one link
  family_id uuid not null,
  study_id uuid not null references studies on delete cascade,
  participant_id uuid references participants on delete cascade,
  caregiver_id uuid references caregivers on delete cascade,
  -- of the token there is the keyed hash alone
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  rotated_at timestamptz,
  -- it cannot be refreshed any more
  revoked_at timestamptz,
  -- the portal tokens that came with it are no good any more either
  ended_at timestamptz,
  user_agent varchar(500),
  ip_address varchar(45),
  constraint portal_refresh_tokens_of_one check ((participant_id is null) <> (caregiver_id is null))
);
create index portal_refresh_tokens_family on portal_refresh_tokens (family_id);
create index portal_refresh_tokens_study on portal_refresh_tokens (study_id);
create index portal_refresh_tokens_participant on portal_refresh_tokens (participant_id) where participant_id is not null;
create index portal_refresh_tokens_caregiver on portal_refresh_tokens (caregiver_id) where caregiver_id is not null;
select isolate_by_study('portal_refresh_tokens');

-- Who opened the portal at an address that is no longer the person's cannot stay: nor does a link that was sent there open.
create function end_portal_logins() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'participants' then
    update portal_refresh_tokens set revoked_at = clock_timestamp() where participant_id = new.id and revoked_at is null;
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where participant_id = new.id and used_at is null;
  else
    update portal_refresh_tokens set revoked_at = clock_timestamp() where caregiver_id = new.id and revoked_at is null;
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where caregiver_id = new.id and used_at is null;
  end if;
  return null;
end $$;
create trigger end_portal_logins after update of status, email, phone on participants for each row
  when (new.status = 'withdrawn' and old.status <> 'withdrawn'
    or old.email is not null and new.email is distinct from old.email or old.phone is not null and new.phone is distinct from old.phone)
  execute function end_portal_logins();
create trigger end_portal_logins after update of status, email, phone on caregivers for each row
  when (new.status = 'inactive' and old.status <> 'inactive'
    or old.email is not null and new.email is distinct from old.email or old.phone is not null and new.phone is distinct from old.phone)
  execute function end_portal_logins();
-- Where somebody was and with what is part of who it is.
create function erase_portal_logins() returns trigger language plpgsql as $$
begin
  delete from portal_refresh_tokens where participant_id = new.id;
  return null;
end $$;
create trigger erase_portal_logins after update of erased_at on participants for each row
  when (new.erased_at is not null and old.erased_at is null) execute function erase_portal_logins();

-- Whether the login of a portal token was ended. Asked once the transaction is narrowed to whose it is.
create function portal_login_ended(p_login uuid) returns boolean language plpgsql as $$
begin
  return p_login is not null and exists (select from portal_refresh_tokens r where r.family_id = p_login and r.ended_at is not null);
end $$;
-- A battery for a participant whose login counts as well.
create function battery_for_participant(p_participant uuid, p_login uuid, p_battery integer, p_version integer, out caller jsonb, out source jsonb) language plpgsql as $$
begin
  select b.caller, b.source into caller, source from battery_for_participant(p_participant, p_battery, p_version) b;
  if portal_login_ended(p_login) then caller := caller || '{"login_ended": true}'; end if;
end $$;

-- Who asks for a new link is looked for by address, in every study.
create index participants_email on participants (lower(email)) where email is not null and status = 'enrolled';
create index participants_phone on participants (regexp_replace(phone, '[^0-9]', '', 'g')) where phone is not null and status = 'enrolled';
create index caregivers_email on caregivers (lower(email)) where email is not null and status = 'active';
create index caregivers_phone on caregivers (regexp_replace(phone, '[^0-9]', '', 'g')) where phone is not null and status = 'active';
`;
