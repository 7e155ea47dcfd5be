/**
 * A reminder is planned by the calendar of the visit's site, as it is sent by it: the zone of the participant says at
 * which hour it is due, not whether the visit is over.
 */
export const name = '0126-reminder-calendar';
export const up = `
create or replace function plan_reminder_rows(p_visits visit_to_plan[]) returns void language plpgsql as $$
begin
  if coalesce(cardinality(p_visits), 0) = 0 then return; end if;
  with changed as materialized (
    select v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close from unnest(p_visits) v
    where v.status in ('scheduled', 'open', 'missed')
  ), rules as materialized (
    -- Read once for each study, not for each visit: a study's configuration is long.
    select s.id as study_id, s.timezone, r.*, row_number() over (partition by s.id, r.channel order by r.days_before) = 1 as first from studies s cross join lateral reminder_rules(s.config) r where s.id in (select c.study_id from changed c)
  )
  insert into notifications as n (study_id, participant_id, visit_id, visit_key, kind, channel, days_before, target_date, due_at, attempt_at, status, reason)
  select w.study_id, w.participant_id, w.id, w.visit_key, w.kind, w.channel, w.days_before, w.target_date, w.due_at, w.due_at,
         case when w.stopped is not null then 'cancelled' when w.late then 'suppressed' else 'pending' end,
         case when w.stopped is not null then w.stopped when w.late then 'too_late' end
  from (
    select v.id, v.study_id, v.participant_id, v.visit_key, k.kind, r.channel, case when k.kind = 'visit_reminder' then r.days_before end as days_before, v.target_date, d.due_at,
           case when p.status = 'withdrawn' then 'withdrawn'
                when k.kind = 'visit_reminder' and (v.status = 'missed' or v.window_close < (clock_timestamp() at time zone coalesce(t.timezone, r.timezone))::date) then 'visit_over' end as stopped,
           d.due_at < clock_timestamp() - l.max_lateness as late
    from changed v
    join rules r on r.study_id = v.study_id
    join participants p on p.id = v.participant_id
    left join sites t on t.id = p.site_id
    cross join (select max_lateness from reminder_limits limit 1) l
    cross join lateral (select coalesce(p.timezone, t.timezone, r.timezone) as zone) z
    cross join lateral (
      select 'visit_reminder' as kind, v.target_date - r.days_before as day
      -- One for each channel, however many days before it was told.
      union all select 'visit_missed', v.window_close + 1 where v.status = 'missed' and r.first) k
    cross join lateral (select reminder_due(k.day, r.send_at, r.quiet_from, r.quiet_to, z.zone) as due_at) d
  ) w
  where not exists (
    select from notifications a
    where a.of_visit_key = w.visit_key and a.target_date = w.target_date and a.kind = w.kind and a.channel = w.channel and a.days_before is not distinct from w.days_before)
  order by w.visit_key, w.kind, w.channel, w.days_before
  on conflict (visit_key, kind, channel, days_before) where visit_key is not null do update
    set visit_id = excluded.visit_id, target_date = excluded.target_date, due_at = excluded.due_at, status = excluded.status, reason = excluded.reason,
        attempt_at = case when n.status = 'pending' and n.due_at = excluded.due_at then n.attempt_at else excluded.attempt_at end,
        attempts = case when n.due_at = excluded.due_at then n.attempts else 0 end,
        last_error = case when n.due_at = excluded.due_at then n.last_error end
    where n.status <> 'sent' and n.reason is distinct from 'cancelled_by_staff'
      and not (n.status = 'failed' and n.due_at = excluded.due_at)
      and (n.status, n.due_at, n.reason, n.target_date) is distinct from (excluded.status, excluded.due_at, excluded.reason, excluded.target_date)
       or n.status = 'pending' and n.visit_id <> excluded.visit_id;
end $$;
`;
