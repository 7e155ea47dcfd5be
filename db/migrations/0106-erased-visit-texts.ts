/** An erasure also removes what staff wrote about the person's visits: names of unscheduled ones, notes of a review. */
export const name = '0106-erased-visit-texts';
export const up = `
create function erase_visit_texts(p_id uuid) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform set_config('app.erasing', 'on', true);
  -- Other visits have the name of their window, event or mapping, which is the study's.
  update visit_states s set name = '[erased]' from scheduled_visits v
    where v.participant_id = p_id and s.participant_id = p_id and s.visit_id = v.id
      and v.schedule_version_id is null and v.visit_window_id is null and v.event_definition_id is null;
  update scheduled_visits set name = '[erased]'
    where participant_id = p_id and schedule_version_id is null and visit_window_id is null and event_definition_id is null;
  update scheduled_visits set review_resolution = '[erased]' where participant_id = p_id and review_resolution is not null;
  perform set_config('app.erasing', '', true);
end $$;
revoke all on function erase_visit_texts(uuid) from public;
grant execute on function erase_visit_texts(uuid) to research_app;
`;
