/** A page of a list in one round trip: the caller, their rights, and the rows as the answer's text. */
export const name = '0010-pages';
export const up = `
-- A timestamp as the service writes it: UTC with Z, three to six decimals.
create function iso_utc(t timestamptz) returns text language sql immutable parallel safe as
  $$ select regexp_replace(to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0{1,3}$', '') || 'Z' $$;

-- Loads the caller, narrows this statement's own transaction to what the caller may see (request_actor), then runs the
-- program's query within that. p_query yields one text; p_values is its $1. Begin, caller, query and commit as four
-- round trips cost a list half of its throughput. It runs with the rights of who calls it: it opens nothing.
create function page_as(p_user uuid, p_study uuid, p_site uuid, p_query text, p_values text[])
returns table (caller json, page text) language plpgsql volatile as $$
declare v_caller json; v_page text;
begin
  select to_json(a) into v_caller from request_actor(p_user, p_study, p_site, null) a;
  if v_caller is not null then execute p_query into v_page using p_values; end if;
  return query select v_caller, v_page;
end $$;
`;
