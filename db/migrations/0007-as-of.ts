/**
 * The state of the records at any past instant: one time for each transaction, the states of visits over time, reviews.
 */
export const name = '0007-as-of';
export const up = `
-- The moment that a change counts from. Who decides about an anchor sets it once the anchor's row is locked, so that
-- everything that one decision writes bears one instant and the decisions of a participant follow each other in time;
-- elsewhere it is the clock. The start of the transaction would not do: one that waits for a lock starts before the
-- changes that it comes after.
create function moment() returns timestamptz language sql volatile parallel restricted as
  $$ select coalesce(nullif(current_setting('app.moment', true), '')::timestamptz, clock_timestamp()) $$;

create function touch_moment() returns trigger language plpgsql as $$
begin new.updated_at := moment(); return new; end $$;

alter table anchor_date_history alter column created_at set default moment();
alter table schedule_versions alter column generated_at set default moment();
-- An anchor that nothing has happened to yet says one instant for both.
alter table anchor_dates alter column created_at set default now(), alter column updated_at set default now();
drop trigger touch on anchor_dates;
create trigger touch before update on anchor_dates for each row execute function touch_moment();

alter table scheduled_visits
  add column reviewed_at timestamptz,
  add column reviewed_by_id uuid,
  add column review_resolution text,
  -- the target that the last review held the visit against: the same one does not flag it again
  add column reviewed_target_date date,
  add check ((reviewed_at is null) = (reviewed_by_id is null));

-- Each visit's state from each moment on, written by the database itself, whatever changes a visit, in however large
-- a set. No reference to the visit: a record outlives what it tells of.
create table visit_states (
  participant_id uuid not null,
  seq bigint generated always as identity,
  visit_id uuid not null,
  study_id uuid not null,
  name varchar(300) not null,
  battery_id integer,
  datacapture_event varchar(200),
  status varchar(20) not null,
  status_reason varchar(200),
  target_date date not null,
  window_open date not null,
  window_close date not null,
  completed_at timestamptz,
  session_id uuid,
  anchor_reconciled_at timestamptz,
  needs_review boolean not null,
  reporting_target_date date,
  changed_at timestamptz not null,
  primary key (participant_id, seq)
);
select isolate_by_study('visit_states');
select insert_only('visit_states');
-- Nobody holds the right to insert but the owner, through the triggers.
revoke insert on visit_states from research_app;

create function record_new_visits() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_at timestamptz := moment();
begin
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, v_at
  from made;
  return null;
end $$;

-- A statement that leaves all of this as it was (a push's state, say) leaves no trace.
create function record_changed_visits() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_at timestamptz := moment();
begin
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select n.participant_id, n.id, n.study_id, n.name, n.battery_id, n.datacapture_event, n.status, n.status_reason, n.target_date, n.window_open, n.window_close,
    n.completed_at, n.session_id, n.anchor_reconciled_at, n.needs_review, n.reporting_target_date, v_at
  from after n join before o on o.id = n.id
  where (n.name, n.battery_id, n.datacapture_event, n.status, n.status_reason, n.target_date, n.window_open, n.window_close, n.completed_at, n.session_id, n.anchor_reconciled_at, n.needs_review, n.reporting_target_date)
    is distinct from (o.name, o.battery_id, o.datacapture_event, o.status, o.status_reason, o.target_date, o.window_open, o.window_close, o.completed_at, o.session_id, o.anchor_reconciled_at, o.needs_review, o.reporting_target_date);
  return null;
end $$;

create trigger record_new after insert on scheduled_visits referencing new table as made for each statement execute function record_new_visits();
create trigger record_changed after update on scheduled_visits referencing old table as before new table as after for each statement execute function record_changed_visits();

-- Of visits older than this record nothing is known but that they were scheduled, and how they stand.
insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, target_date, window_open, window_close, needs_review, changed_at)
select participant_id, id, study_id, name, battery_id, datacapture_event, 'scheduled', target_date, window_open, window_close, false, created_at from scheduled_visits order by created_at;
insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
  completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
  completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, updated_at
from scheduled_visits where status <> 'scheduled' or needs_review or anchor_reconciled or reporting_target_date is not null order by updated_at;
`;
