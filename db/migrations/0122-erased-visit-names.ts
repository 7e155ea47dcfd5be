/**
 * An erasure also removes the names that staff gave to visits of the schedule, and to visits that they planned for a
 * window: the names of the plan take their place.
 */
export const name = '0122-erased-visit-names';
export const up = `
create or replace function erase_visit_texts(p_id uuid) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform set_config('app.erasing', 'on', true);
  with plan as (
    select v.id, case when v.schedule_version_id is not null then coalesce(v.changed_from->>'name', v.name)
      else coalesce(w.name, e.name, '[erased]') end as name
    from scheduled_visits v left join visit_windows w on w.id = v.visit_window_id
      left join event_definitions e on e.id = v.event_definition_id where v.participant_id = p_id
  ), shown as (
    update visit_states s set name = plan.name from plan
      where s.participant_id = p_id and s.visit_id = plan.id and s.name <> plan.name
  )
  update scheduled_visits v set name = plan.name, changed_from = nullif(v.changed_from - 'name', '{}') from plan
    where v.id = plan.id and v.name <> plan.name;
  update scheduled_visits set review_resolution = '[erased]' where participant_id = p_id and review_resolution is not null;
  perform set_config('app.erasing', '', true);
end $$;
`;
