/** Second factors, logins that can be listed and ended, links to users, and tokens of /api/v1. */
export const name = '0021-identity';
export const up = `
-- A user's second factor. It counts from verified_at on; last_step is the time step of the last code that was taken at
-- a login: a code is good once.
create table user_mfa (
  user_id uuid primary key references users on delete cascade,
  secret_sealed text not null,
  last_step bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  verified_at timestamptz
);
create table mfa_recovery_codes (
  user_id uuid not null references user_mfa on delete cascade,
  code_hash bytea not null check (octet_length(code_hash) = 32),
  used_at timestamptz,
  primary key (user_id, code_hash)
);
-- What an mfa token stands for: the password was right, the second factor is still to come (or to be set up). Ends once.
create table mfa_challenges (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  purpose varchar(10) not null check (purpose in ('login', 'setup')),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index mfa_challenges_user on mfa_challenges (user_id);

-- One link in a message to a user, to choose a password by; of its token there is the keyed hash alone.
create table user_links (
  notification_id uuid primary key references notifications on delete cascade,
  user_id uuid not null references users on delete cascade,
  purpose varchar(20) not null check (purpose in ('password_reset', 'invitation')),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  made_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index user_links_user on user_links (user_id);

alter table refresh_tokens add column user_agent varchar(500), add column ip_address varchar(45);
-- Goes up when every login of the user is ended: access tokens bear the one that they were given under.
alter table users add column session_epoch integer not null default 0;

-- Tokens of /api/v1; of a token there is the hash alone.
create table api_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name varchar(200) not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  study_ids uuid[] not null check (cardinality(study_ids) > 0),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  check (expires_at <= created_at + interval '366 days')
);
create index api_tokens_user on api_tokens (user_id, created_at);

grant select, insert, update, delete on user_mfa, mfa_recovery_codes, mfa_challenges, user_links, api_tokens to research_app;

-- As before, and the epoch of the caller's logins.
drop function request_actor(uuid, uuid, uuid, uuid);
create function request_actor(p_user uuid, p_study uuid, p_site uuid, p_participant uuid)
returns table (id uuid, email varchar, name varchar, role varchar, status varchar, study_ids uuid[], site_ids uuid[],
               study_seen boolean, site_seen boolean, participant_seen boolean, session_epoch integer)
language plpgsql volatile as $$
declare
  u record; v_scope text; v_sites uuid[]; v_site_studies uuid[]; v_site_seen boolean := true;
begin
  select x.id, x.email, x.name, x.role, x.status, x.session_epoch,
         array(select s.study_id from user_studies s where s.user_id = x.id order by 1) as study_ids,
         array(select s.site_id from user_sites s where s.user_id = x.id order by 1) as site_ids
    into u from users x where x.id = p_user;
  if not found then return; end if;
  v_scope := case
    when u.status <> 'active' then ''
    when p_study is not null then case when u.role = 'admin' or p_study = any (u.study_ids) then p_study::text else '' end
    when u.role = 'admin' then '*'
    else array_to_string(u.study_ids, ',') end;
  perform set_config('app.studies', v_scope, true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  if u.role in ('coordinator', 'investigator') and cardinality(u.site_ids) > 0 then v_sites := u.site_ids; end if;
  if p_site is not null then
    v_site_seen := exists (select from sites t where t.id = p_site) and (v_sites is null or p_site = any (v_sites)
      or not exists (select from sites a join sites b on b.study_id = a.study_id where a.id = p_site and b.id = any (v_sites)));
    v_sites := array[p_site];
    -- A site is of one study: naming it narrows to that study as well.
    if v_site_seen then perform set_config('app.studies', (select t.study_id::text from sites t where t.id = p_site), true); end if;
  end if;
  if v_sites is not null then
    v_site_studies := array(select distinct t.study_id from sites t where t.id = any (v_sites));
    perform set_config('app.sites', array_to_string(v_sites, ','), true), set_config('app.site_studies', array_to_string(v_site_studies, ','), true);
  end if;
  return query select u.id, u.email, u.name, u.role, u.status, u.study_ids, u.site_ids,
    p_study is null or exists (select from studies t where t.id = p_study),
    v_site_seen,
    p_participant is null or exists (select from participants t where t.id = p_participant),
    u.session_epoch;
end $$;

-- The caller behind a token of /api/v1: its creator, narrowed to the studies of the token that are still that
-- user's. No row: there is no such token, it was revoked or its time is up.
create function request_token(p_token uuid, p_hash text, p_study uuid, p_site uuid, p_participant uuid)
returns table (id uuid, email varchar, name varchar, role varchar, status varchar, study_ids uuid[], site_ids uuid[],
               study_seen boolean, site_seen boolean, participant_seen boolean, session_epoch integer, token_id uuid, scopes text[])
language plpgsql volatile as $$
declare t record; c record; v_scope text; v_studies uuid[]; v_seen uuid[];
begin
  perform set_config('app.studies', '', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.user_id, x.scopes, x.study_ids into t from api_tokens x
    where x.id = p_token and x.token_hash = decode(p_hash, 'hex') and x.revoked_at is null and x.expires_at > clock_timestamp();
  if not found then return; end if;
  select * into c from request_actor(t.user_id, p_study, p_site, p_participant);
  if not found then return; end if;
  v_studies := case when c.role = 'admin' then t.study_ids else array(select s from unnest(t.study_ids) s where s = any (c.study_ids)) end;
  v_scope := current_setting('app.studies');
  v_seen := case v_scope when '*' then v_studies when '' then '{}'::uuid[]
    else array(select s from unnest(string_to_array(v_scope, ',')::uuid[]) s where s = any (v_studies)) end;
  perform set_config('app.studies', array_to_string(v_seen, ','), true);
  return query select c.id, c.email, c.name, c.role, c.status, v_studies, c.site_ids,
    c.study_seen and (p_study is null or p_study = any (v_seen)),
    c.site_seen and (p_site is null or cardinality(v_seen) > 0),
    c.participant_seen and (p_participant is null or exists (select from participants p where p.id = p_participant)),
    c.session_epoch, t.id, t.scopes;
end $$;
`;
