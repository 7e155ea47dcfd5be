/**
 * The row of `request_actor` or `request_participant`, with the battery version that this caller would get; null: no
 * visible battery or version. One statement serves many callers.
 */
export const name = '0033-battery-right';
const SOURCE = `select jsonb_build_object('id', b.id, 'study_id', b.study_id, 'version', w.version, 'published', v.version is not null) into source
  from batteries b cross join lateral (select coalesce(p_version, b.published_version, b.version) as version) w
  left join battery_versions v on v.battery_id = b.id and v.version = w.version
  where b.id = p_battery and (v.version is not null or w.version = b.version);`;
export const up = `
create function battery_for_user(p_user uuid, p_study uuid, p_site uuid, p_battery integer, p_version integer, out caller jsonb, out source jsonb) language plpgsql as $$
begin
  perform set_config('app.studies', '', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select to_jsonb(a) into caller from request_actor(p_user, p_study, p_site, null) a;
  ${SOURCE}
end $$;

create function battery_for_participant(p_participant uuid, p_battery integer, p_version integer, out caller jsonb, out source jsonb) language plpgsql as $$
begin
  select to_jsonb(a) into caller from request_participant(p_participant) a;
  ${SOURCE}
end $$;
`;
