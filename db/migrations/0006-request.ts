/** The caller, loaded in one round trip; and isolation by site besides isolation by study. */
export const name = '0006-request';
export const up = `
-- Sites that this transaction is narrowed to, and the studies that the narrowing concerns: in those studies only
-- participants of the named sites are seen; in others, and where nothing is set, all.
create function app_sites() returns uuid[] language sql stable parallel safe as
  $$ select case when coalesce(current_setting('app.sites', true), '') = '' then '{}'::uuid[]
            else string_to_array(current_setting('app.sites', true), ',')::uuid[] end $$;
create function app_site_studies() returns uuid[] language sql stable parallel safe as
  $$ select case when coalesce(current_setting('app.site_studies', true), '') = '' then '{}'::uuid[]
            else string_to_array(current_setting('app.site_studies', true), ',')::uuid[] end $$;

create policy site_isolation on participants as restrictive using (
  study_id <> all ((select app_site_studies())::uuid[]) or site_id = any ((select app_sites())::uuid[]));

-- Loads the caller as the database knows it now and narrows the transaction to what it may see. One call at the
-- start of a request instead of five statements: role, studies, sites, and whether study, site and participant
-- that the request names are in reach. No row: no such user.
create function request_actor(p_user uuid, p_study uuid, p_site uuid, p_participant uuid)
returns table (id uuid, email varchar, name varchar, role varchar, status varchar, study_ids uuid[], site_ids uuid[],
               study_seen boolean, site_seen boolean, participant_seen boolean)
language plpgsql volatile as $$
declare
  u record; v_scope text; v_sites uuid[]; v_site_studies uuid[]; v_site_seen boolean := true;
begin
  select x.id, x.email, x.name, x.role, x.status,
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
    p_participant is null or exists (select from participants t where t.id = p_participant);
end $$;
`;
