/**
 * A visit's state counts from the instant that its record names (`updated_at`, of a visit by hand `created_at`), which is
 * a little earlier than that at which the whole statement is recorded: at this instant its schedule did not show it yet.
 */
export const name = '0129-visit-instants';
export const up = `
create or replace function record_changed_visits() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_at timestamptz := least(moment(), (select min(updated_at) from after));
begin
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select c.*, v_at from (
    select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
      completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date from after
    except
    select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
      completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date from before) c;
  return null;
end $$;

create or replace function record_new_visits() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_at timestamptz := moment();
begin
  if coalesce(current_setting('app.loading_study', true), '') <> '' then return null; end if;
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date,
    case when schedule_version_id is null then least(v_at, created_at) else v_at end
  from made;
  return null;
end $$;
`;
