/** Caregivers: persons who open the portal for participants of a study, and their assignments. */
export const name = '0042-caregivers';
export const up = `
create table caregivers (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  name varchar(200),
  email varchar(320),
  phone varchar(40),
  preferred_language varchar(35),
  status varchar(20) not null default 'active' check (status in ('active','inactive')),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (id, study_id)
);
create index caregivers_listing on caregivers (study_id, created_at, id);
create trigger touch before update on caregivers for each row execute function touch_updated_at();
select isolate_by_study('caregivers');

create table caregiver_participants (
  caregiver_id uuid not null,
  participant_id uuid not null references participants on delete cascade,
  study_id uuid not null,
  relationship varchar(100) not null,
  created_at timestamptz not null default clock_timestamp(),
  created_by uuid,
  primary key (caregiver_id, participant_id),
  foreign key (caregiver_id, study_id) references caregivers (id, study_id) on delete cascade
);
create index caregiver_participants_participant on caregiver_participants (participant_id);
create index caregiver_participants_study on caregiver_participants (study_id);
select isolate_by_study('caregiver_participants');

-- Whom a caregiver cares for is part of what is said of it: its tag moves with that. A study that is loaded brings its own times.
create function touch_caregiver() returns trigger language plpgsql as $$
begin
  update caregivers set updated_at = clock_timestamp() where id = coalesce(new.caregiver_id, old.caregiver_id);
  return null;
end $$;
create trigger touch_caregiver after insert or update or delete on caregiver_participants for each row
  when (coalesce(current_setting('app.loading_study', true), '') = '') execute function touch_caregiver();

-- Who is narrowed to sites reaches a caregiver through a participant there; one who cares for nobody yet is everybody's.
create policy site_isolation on caregivers as restrictive using (
  (select app_all_sites()) or study_id <> all ((select app_site_studies())::uuid[])
  or not exists (select from caregiver_participants k where k.caregiver_id = caregivers.id)
  or exists (select from caregiver_participants k join participants p on p.id = k.participant_id where k.caregiver_id = caregivers.id));

-- A link, and the message that bears it, is a participant's or a caregiver's.
alter table notifications add column caregiver_id uuid references caregivers on delete cascade;
create index notifications_caregiver on notifications (caregiver_id) where caregiver_id is not null;
alter table portal_links alter column participant_id drop not null;
alter table portal_links add column caregiver_id uuid references caregivers on delete cascade,
  add constraint portal_links_of_one check ((participant_id is null) <> (caregiver_id is null));
create index portal_links_caregiver on portal_links (caregiver_id) where caregiver_id is not null;

-- A caregiver's device gets the messages of the participant for as long as the care lasts.
alter table push_tokens add column caregiver_id uuid,
  add foreign key (caregiver_id, participant_id) references caregiver_participants (caregiver_id, participant_id) on delete cascade;
create index push_tokens_caregiver on push_tokens (caregiver_id, participant_id) where caregiver_id is not null;

-- As request_participant, for a caregiver: with the participant that it acts for, which is the one that it names, or the
-- only one. No row: there is no such caregiver (any more); no id: it named none of several, or one that it does not care for.
create function request_caregiver(p_caregiver uuid, p_participant uuid)
returns table (caregiver_id uuid, caregiver_name varchar, caregiver_language varchar, caregiver_status varchar, caregiver_study uuid, cares_for integer,
               id uuid, study_id uuid, site_id uuid, participant_code varchar, preferred_language varchar, status varchar)
language plpgsql volatile as $$
declare c record; v_people uuid[]; v_one uuid;
begin
  perform set_config('app.studies', '*', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.name, x.preferred_language, x.status, x.study_id into c from caregivers x where x.id = p_caregiver;
  if c.id is not null and c.status = 'active' then
    v_people := array(select p.id from caregiver_participants k join participants p on p.id = k.participant_id where k.caregiver_id = c.id and p.status = 'enrolled');
  end if;
  v_people := coalesce(v_people, '{}');
  perform set_config('app.studies', case when cardinality(v_people) > 0 then c.study_id::text else '' end, true);
  if c.id is null then return; end if;
  v_one := case when p_participant is not null then (select x from unnest(v_people) x where x = p_participant) when cardinality(v_people) = 1 then v_people[1] end;
  return query select c.id, c.name, c.preferred_language, c.status, c.study_id, cardinality(v_people), p.id, p.study_id, p.site_id, p.participant_code, p.preferred_language, p.status
    from (select 1) one left join participants p on p.id = v_one;
end $$;

-- Ends all care for a participant; who then cares for nobody is nobody by name. Who asks may be narrowed to sites: whether
-- somebody is left is asked of the whole study.
create function end_care(p_id uuid) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare v_ended uuid[]; v_nobody uuid[]; v_sites text := current_setting('app.site_studies', true); c uuid;
begin
  perform set_config('app.site_studies', '', true);
  with gone as (delete from caregiver_participants where participant_id = p_id returning caregiver_id) select array_agg(caregiver_id) into v_ended from gone;
  v_nobody := array(select x.id from caregivers x where x.id = any (v_ended) and not exists (select from caregiver_participants k where k.caregiver_id = x.id));
  delete from portal_links where caregiver_id = any (v_nobody);
  update notifications set status = 'cancelled', reason = 'erased' where caregiver_id = any (v_nobody) and status = 'pending';
  update caregivers set name = null, email = null, phone = null, status = 'inactive' where id = any (v_nobody);
  foreach c in array v_nobody loop delete from idempotency_keys where body like '%' || c || '%'; end loop;
  perform set_config('app.site_studies', coalesce(v_sites, ''), true);
  return coalesce(cardinality(v_ended), 0);
end $$;
revoke all on function end_care(uuid) from public;
grant execute on function end_care(uuid) to research_app;
`;
