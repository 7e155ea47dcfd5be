/**
 * An erasure also removes what staff wrote about the person: reasons of dates, overrides, visits, withdrawals, waivers
 * and resolved conflicts. Reasons that the service itself wrote stay.
 */
export const name = '0103-erased-reasons';
export const up = `
drop trigger insert_only on domain_events;
create trigger insert_only before update or delete on domain_events for each row
  when (coalesce(current_setting('app.erasing', true), '') <> 'on') execute function refuse_change();
drop trigger insert_only on visit_states;
create trigger insert_only before update or delete on visit_states for each row
  when (coalesce(current_setting('app.erasing', true), '') <> 'on') execute function refuse_change();

-- The notes of eligibility criteria.
create function without_notes(criteria jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, case when value->>'notes' is not null then value || '{"notes": "[erased]"}' else value end), '{}')
  from jsonb_each(criteria)
$$;

-- p_reason is why the person was erased: it stays.
create function erase_reasons(p_id uuid, p_reason text) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform set_config('app.erasing', 'on', true);
  update anchor_date_history set reason = '[erased]'
    where participant_id = p_id and reason is not null and (actor_type <> 'workflow' or event_type like 'OVERRIDE%');
  update anchor_dates set override_reason = '[erased]' where participant_id = p_id and override_reason is not null;
  update manual_anchor_entries set reason = '[erased]' where participant_id = p_id and reason is not null;
  update override_requests set reason = case when reason is not null then '[erased]' end,
      decision_reason = case when decision_reason is not null then '[erased]' end
    where participant_id = p_id and (reason is not null or decision_reason is not null);
  update eligibility_assessments set waiver_reason = case when waiver_reason is not null then '[erased]' end,
      inclusion_criteria = without_notes(inclusion_criteria), exclusion_criteria = without_notes(exclusion_criteria)
    where participant_id = p_id;
  update sync_conflicts set reason = '[erased]' where participant_id = p_id and reason is not null;
  -- A reason that is also one of a schedule version is the service's own.
  update scheduled_visits set status_reason = '[erased]'
    where participant_id = p_id and status_reason <> 'cancelled by hand'
      and not exists (select from schedule_versions s where s.participant_id = p_id and s.supersede_reason = status_reason);
  update visit_states set status_reason = '[erased]'
    where participant_id = p_id and status_reason <> 'cancelled by hand'
      and not exists (select from schedule_versions s where s.participant_id = p_id and s.supersede_reason = status_reason);
  -- denial_reason, withdrawal_reason and others like them too.
  update domain_events set data = data || said.erased
    from (select e.seq, jsonb_object_agg(key, '[erased]'::text) as erased
      from domain_events e, jsonb_each_text(e.data)
      where e.study_id = (select study_id from participants where id = p_id) and e.participant_id = p_id and e.data->'actor'->>'type' is distinct from 'workflow'
        and key ~ '(^|_)reason$' and value <> p_reason group by e.seq) said
    where domain_events.seq = said.seq and study_id = (select study_id from participants where id = p_id);
  perform set_config('app.erasing', '', true);
end $$;
revoke all on function erase_reasons(uuid, text) from public;
grant execute on function erase_reasons(uuid, text) to research_app;
`;
