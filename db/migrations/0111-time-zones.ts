/**
 * A time zone that the database does not know made each statement fail that has a local date, also those that go through
 * all studies. CET, EET, MET and WET are no zones to the database but fixed offsets, an hour off in summer.
 */
export const name = '0111-time-zones';
/** As in workflows/domain/util/dates.ts. */
const linked = `case upper(timezone) when 'CET' then 'Europe/Brussels' when 'MET' then 'Europe/Brussels' when 'EET' then 'Europe/Athens'
    when 'WET' then 'Europe/Lisbon' when 'US/PACIFIC-NEW' then 'America/Los_Angeles' when 'CANADA/EAST-SASKATCHEWAN' then 'America/Regina' end`;
const tables = ['studies', 'sites', 'participants'];
export const up = `
create function is_time_zone(p_zone text) returns boolean language plpgsql stable parallel safe as $$
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
`;
