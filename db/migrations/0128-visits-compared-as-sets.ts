/**
 * What changed in visits is found by comparing the rows before and after as sets. A join of the two is planned for the
 * rows of a connection's first statement, often none: it compared each with each, and its time grew with their square.
 * Here for reminders; for the record of states in 0129.
 */
export const name = '0128-visits-compared-as-sets';
export const up = `
create or replace function visits_changed() returns trigger language plpgsql as $$
declare
  waiting visit_to_plan[];
  completed visit_to_plan[];
  cancelled visit_to_plan[];
begin
  -- To a reminder an open visit is a scheduled one, and the dates of one that has ended are nothing.
  select array_agg(row(c.*)::visit_to_plan) filter (where c.status in ('scheduled', 'missed')),
         array_agg(row(c.*)::visit_to_plan) filter (where c.status = 'completed'),
         array_agg(row(c.*)::visit_to_plan) filter (where c.status = 'cancelled')
  into waiting, completed, cancelled
  from (
    select id, study_id, participant_id, visit_key, case status when 'open' then 'scheduled' else status end as status,
      case when status in ('scheduled', 'open', 'missed') then target_date end, case when status in ('scheduled', 'open', 'missed') then window_close end
    from after_change
    except
    select id, study_id, participant_id, visit_key, case status when 'open' then 'scheduled' else status end,
      case when status in ('scheduled', 'open', 'missed') then target_date end, case when status in ('scheduled', 'open', 'missed') then window_close end
    from before_change) c;
  if waiting is not null then perform plan_reminders(waiting); end if;
  if completed is not null then perform stop_reminders(completed, 'completed'); end if;
  if cancelled is not null then perform stop_reminders(cancelled, 'visit_cancelled'); end if;
  return null;
end $$;
`;
