/**
 * A time zone that the database does not know made each statement fail that has a local date, also those that go through
 * all studies. CET, EET, MET and WET are no zones to the database but fixed offsets, an hour off in summer.
 *
 * `lower` depends on the database's locale: where that is C, only letters of ASCII have a lower case. An item named `Имя`
 * was not found by its name, and stayed when it was to be erased. So did items inside of others.
 */
export const name = '0111-zones-and-letters';
/** As in workflows/domain/util/dates.ts. */
const linked = `case upper(timezone) when 'CET' then 'Europe/Brussels' when 'MET' then 'Europe/Brussels' when 'EET' then 'Europe/Athens'
    when 'WET' then 'Europe/Lisbon' when 'US/PACIFIC-NEW' then 'America/Los_Angeles' when 'CANADA/EAST-SASKATCHEWAN' then 'America/Regina' end`;
const tables = ['studies', 'sites', 'participants'];
export const up = `
create function is_time_zone(p_zone text) returns boolean language plpgsql stable as $$
begin
  perform clock_timestamp() at time zone p_zone;
  return true;
exception when invalid_parameter_value then
  return false;
end $$;
${tables.map((table) => `update ${table} set timezone = ${linked} where ${linked} is not null;`).join('\n')}
-- Nothing could be read with these: a site's or a person's study decides, a study goes by UTC.
update participants set timezone = null where not is_time_zone(timezone);
update sites set timezone = null where not is_time_zone(timezone);
update studies set timezone = 'UTC' where not is_time_zone(timezone);
${tables.map((table) => `alter table ${table} add constraint ${table}_timezone_known check (timezone is null or is_time_zone(timezone));`).join('\n')}

-- A text for comparisons without case, whatever the locale, and however its letters are composed. Most texts are of
-- ASCII, each letter one byte.
do $do$
begin
  execute format('create function folded(t text) returns text language sql immutable parallel safe as $$
      select lower(case when octet_length(t) = char_length(t) then t else normalize(t) end collate %I) $$',
    coalesce((select collname from pg_collation where collname in ('pg_c_utf8', 'und-x-icu') and collnamespace = 'pg_catalog'::regnamespace
      order by collname = 'pg_c_utf8' desc limit 1), 'default'));
end $do$;

create or replace function is_identity(item text, named text[]) returns boolean language sql immutable as $$
  select folded(item) = any (array(select folded(n) from unnest(named) n))
    or item ~* '(^name$|(^|[._-])(email|mail|phone|mobile|telephone|fax|(first|last|given|family|middle|maiden|full|sur)[._-]{0,1}name|address|street|zip|zipcode|postcode|postal[._-]code|dob|date[._-]of[._-]birth|birth[._-]{0,1}date|birthday|ssn|mrn|national[._-]id|passport)([._-]|$))'
$$;

-- Items may hold objects, and lists of them: a name inside of one identifies as well.
create function identity_free(value jsonb, named text[]) returns jsonb language plpgsql immutable as $$
begin
  return case
    when jsonb_typeof(value) = 'object' then
      coalesce((select jsonb_object_agg(e.key, identity_free(e.value, named)) from jsonb_each(value) e where not is_identity(e.key, named)), '{}')
    -- Most lists are of numbers.
    when jsonb_typeof(value) = 'array' and position('{' in value::text) > 0 then
      (select jsonb_agg(identity_free(e.value, named) order by e.at) from jsonb_array_elements(value) with ordinality e (value, at))
    else value end;
end $$;

create or replace function without_identity(items jsonb, named text[]) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, identity_free(value, named)) filter (where not is_identity(key, named)), '{}') from jsonb_each(coalesce(items, '{}'))
$$;

create or replace function facts_without_identity(facts jsonb, named text[]) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(facts->'forms') = 'array' then jsonb_set(facts, '{forms}', (
      select coalesce(jsonb_agg(f || jsonb_build_object('items', (select coalesce(jsonb_object_agg(key, case when is_identity(key, named) then '"[erased]"' else identity_free(value, named) end), '{}') from jsonb_each(coalesce(f->'items', '{}')))) order by at), '[]')
      from jsonb_array_elements(facts->'forms') with ordinality as e (f, at)))
    else facts end
$$;

-- A computed date names the items that its rule read, in each place that quotes its source.
create function inputs_without_identity(doc jsonb, named text[]) returns jsonb language plpgsql immutable as $$
begin
  if doc is null or position('"inputs"' in doc::text) = 0 then return doc; end if;
  return case jsonb_typeof(doc)
    when 'object' then (select jsonb_object_agg(e.key, case
        when e.key = 'inputs' and jsonb_typeof(e.value->'forms') = 'object' then jsonb_set(e.value, '{forms}', (
          select coalesce(jsonb_object_agg(f.key, case when jsonb_typeof(f.value) <> 'object' then f.value else (
              select coalesce(jsonb_object_agg(i.key, case when is_identity(i.key, named) then '"[erased]"' else identity_free(i.value, named) end), '{}')
              from jsonb_each(f.value) i) end), '{}')
          from jsonb_each(e.value->'forms') f))
        else inputs_without_identity(e.value, named) end) from jsonb_each(doc) e)
    when 'array' then (select jsonb_agg(inputs_without_identity(e.value, named) order by e.at) from jsonb_array_elements(doc) with ordinality e (value, at))
    else doc end;
end $$;

create function erase_inputs(p_id uuid, p_items text[]) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform set_config('app.erasing', 'on', true);
  update anchor_dates set source_ref = inputs_without_identity(source_ref, p_items)
    where participant_id = p_id and source_ref <> inputs_without_identity(source_ref, p_items);
  update anchor_date_history set source_ref = inputs_without_identity(source_ref, p_items)
    where participant_id = p_id and source_ref <> inputs_without_identity(source_ref, p_items);
  update anchor_decisions set facts = inputs_without_identity(facts, p_items), decision = inputs_without_identity(decision, p_items),
      trace = inputs_without_identity(trace, p_items)
    where participant_id = p_id and position('"inputs"' in concat(facts, decision, trace)) > 0;
  update anchor_commands set outcome = inputs_without_identity(outcome, p_items)
    where participant_id = p_id and outcome <> inputs_without_identity(outcome, p_items);
  update domain_events set data = inputs_without_identity(data, p_items)
    where study_id = (select study_id from participants where id = p_id) and participant_id = p_id and data <> inputs_without_identity(data, p_items);
  perform set_config('app.erasing', '', true);
end $$;
revoke all on function erase_inputs(uuid, text[]) from public;
grant execute on function erase_inputs(uuid, text[]) to research_app;
`;
