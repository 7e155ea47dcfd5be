/** Exports: files written in the background, the key of a study's pseudonyms, and the import of a whole study. */
export const name = '0018-exports';
export const up = `
create table exports (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  requested_by_id uuid not null,
  site_id uuid,
  dataset varchar(40) not null,
  format varchar(10) not null check (format in ('csv', 'json', 'ndjson', 'xlsx', 'zip')),
  filters jsonb not null default '{}',
  status varchar(20) not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed', 'expired')),
  progress real not null default 0 check (progress between 0 and 1),
  rows bigint,
  size bigint,
  sha256 char(64),
  error varchar(500),
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  expires_at timestamptz,
  check (status not in ('completed', 'expired') or (size is not null and sha256 is not null and expires_at is not null))
);
create index exports_study on exports (study_id, created_at);
select isolate_by_study('exports');

-- Pseudonyms of one study stay the same from export to export, and say nothing without this.
create table study_pseudonym_keys (
  study_id uuid primary key references studies on delete cascade,
  key bytea not null check (octet_length(key) = 32)
);
select isolate_by_study('study_pseudonym_keys');

-- The key is in app.pseudonym_key, as hex, for one transaction. HMAC-SHA256 (RFC 2104) of a key of 32 bytes.
create function keyed_hash(t text) returns bytea language plpgsql stable parallel restricted as $$
declare
  k bytea := decode(current_setting('app.pseudonym_key'), 'hex') || decode(repeat('00', 32), 'hex');
  i bytea := k; o bytea := k;
begin
  for n in 0..63 loop
    i := set_byte(i, n, get_byte(k, n) # 54);
    o := set_byte(o, n, get_byte(k, n) # 92);
  end loop;
  return sha256(o || sha256(i || convert_to(t, 'UTF8')));
end $$;
create function pseudonym(t text) returns text language sql stable parallel restricted as
  $$ select left(encode(keyed_hash(t), 'hex'), 20) $$;
-- A participant's dates all move by the same number of days, between one and 364, back: what lies between them stays.
create function pseudonym_shift(p uuid) returns integer language sql stable parallel restricted as
  $$ select -(1 + (get_byte(h, 0) * 256 + get_byte(h, 1)) % 364) from keyed_hash('shift ' || p::text) h $$;

-- A timestamp as the service writes it: UTC with Z, three to six decimals.
create function export_instant(t timestamptz) returns text language sql immutable parallel safe as $$
  select case when date_trunc('milliseconds', t at time zone 'UTC') = t at time zone 'UTC' then to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
              else rtrim(to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0') || 'Z' end $$;

-- A text as a spreadsheet may see it: what it would run as a formula begins with an apostrophe; a number stays one.
create function csv_text(t text) returns text language sql immutable parallel safe as
  $$ select case when t ~ '^[=+@\\t\\r\\n-]' and t !~ '^-[0-9]+([.][0-9]+){0,1}([eE][-+]{0,1}[0-9]+){0,1}$' then '''' || t else t end $$;

-- A study that is loaded brings its visits' history with it: that of its own making would be another.
create or replace function record_new_visits() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_at timestamptz := moment();
begin
  if coalesce(current_setting('app.loading_study', true), '') <> '' then return null; end if;
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, v_at
  from made;
  return null;
end $$;
-- Nobody else may write that history. Only of the study that this transaction loads.
create function load_visit_states(given jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select r.participant_id, r.visit_id, r.study_id, r.name, r.battery_id, r.datacapture_event, r.status, r.status_reason, r.target_date, r.window_open, r.window_close,
    r.completed_at, r.session_id, r.anchor_reconciled_at, r.needs_review, r.reporting_target_date, r.changed_at
  from jsonb_array_elements(given) with ordinality as e(j, n) cross join lateral jsonb_populate_record(null::visit_states, e.j) r
  where r.study_id::text = current_setting('app.loading_study', true)
    and exists (select from scheduled_visits v where v.id = r.visit_id and v.study_id = r.study_id)
  order by e.n
$$;
revoke all on function load_visit_states(jsonb) from public;
grant execute on function load_visit_states(jsonb) to research_app;
`;
