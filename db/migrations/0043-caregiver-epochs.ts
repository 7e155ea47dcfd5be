/** Deactivating a caregiver ends its portal tokens permanently, as a user’s: reactivation does not restore them. */
export const name = '0043-caregiver-epochs';
export const up = `
alter table caregivers add column session_epoch integer not null default 0;

-- Whatever sets it inactive: staff, or the erasure of those for whom it cared.
create function end_caregiver_tokens() returns trigger language plpgsql as $$
begin
  new.session_epoch := old.session_epoch + 1;
  return new;
end $$;
create trigger end_tokens before update on caregivers for each row when (new.status = 'inactive' and old.status <> 'inactive') execute function end_caregiver_tokens();

-- As before, with the epoch that a token must bear. Its columns are others: it cannot be replaced.
drop function request_caregiver(uuid, uuid);
create function request_caregiver(p_caregiver uuid, p_participant uuid)
returns table (caregiver_id uuid, caregiver_name varchar, caregiver_language varchar, caregiver_status varchar, caregiver_study uuid, cares_for integer,
               id uuid, study_id uuid, site_id uuid, participant_code varchar, preferred_language varchar, status varchar, session_epoch integer)
language plpgsql volatile as $$
declare c record; v_people uuid[]; v_one uuid;
begin
  perform set_config('app.studies', '*', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.name, x.preferred_language, x.status, x.study_id, x.session_epoch into c from caregivers x where x.id = p_caregiver;
  if c.id is not null and c.status = 'active' then
    v_people := array(select p.id from caregiver_participants k join participants p on p.id = k.participant_id where k.caregiver_id = c.id and p.status = 'enrolled');
  end if;
  v_people := coalesce(v_people, '{}');
  perform set_config('app.studies', case when cardinality(v_people) > 0 then c.study_id::text else '' end, true);
  if c.id is null then return; end if;
  v_one := case when p_participant is not null then (select x from unnest(v_people) x where x = p_participant) when cardinality(v_people) = 1 then v_people[1] end;
  return query select c.id, c.name, c.preferred_language, c.status, c.study_id, cardinality(v_people), p.id, p.study_id, p.site_id, p.participant_code, p.preferred_language, p.status, c.session_epoch
    from (select 1) one left join participants p on p.id = v_one;
end $$;
`;
