/**
 * A reminder is sent once for each target date of its visit. A visit that moves after a reminder was sent gets a new
 * pending one; the sent row stays as the record of the old date.
 */
export const name = '0056-reminder-target-dates';
export const up = `
alter table notifications add column of_visit_key uuid, add column target_date date;
comment on column notifications.target_date is 'the target date of the visit that a reminder is for';
comment on column notifications.of_visit_key is 'visit_key of a sent reminder whose visit has moved to another target date since';
create index notifications_of_moved_visit on notifications (of_visit_key, target_date) where of_visit_key is not null;

-- Derives the target date of a reminder that was sent before the column existed. Quiet hours or another zone may have shifted it by a day.
create function reminder_target(p_kind text, p_days integer, p_due timestamptz, p_zone text, p_target date, p_close date) returns date language sql immutable as $$
  select case when abs(d.day - p_target) <= 1 then p_target else d.day end
  from (select (p_due at time zone p_zone)::date + case when p_kind = 'visit_reminder' then p_days else p_target - p_close - 1 end as day) d
$$;

-- Inserts or updates the one row of each visit and rule. A rule that was already sent for the present target date gets none.
create function plan_reminder_rows(p_visits visit_to_plan[]) returns void language plpgsql as $$
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
                when k.kind = 'visit_reminder' and (v.status = 'missed' or v.window_close < (clock_timestamp() at time zone z.zone)::date) then 'visit_over' end as stopped,
           d.due_at < clock_timestamp() - l.max_lateness as late
    from changed v
    join rules r on r.study_id = v.study_id
    join participants p on p.id = v.participant_id
    left join sites t on t.id = p.site_id
    cross join reminder_limits l
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
        attempt_at = case when n.status = 'pending' and n.due_at = excluded.due_at then n.attempt_at else excluded.attempt_at end
    where n.status <> 'sent' and n.reason is distinct from 'cancelled_by_staff'
      and not (n.status = 'failed' and n.due_at = excluded.due_at)
      and (n.status, n.due_at, n.reason, n.target_date) is distinct from (excluded.status, excluded.due_at, excluded.reason, excluded.target_date)
       or n.status = 'pending' and n.visit_id <> excluded.visit_id;
end $$;

-- Brings the reminders of these visits to their present dates. The first call locks the rows of each visit, so that
-- whatever a worker has sent is visible to the second statement. A row that was sent for another target date makes room.
create or replace function plan_reminders(p_visits visit_to_plan[]) returns void language plpgsql as $$
declare moved uuid[];
begin
  if coalesce(cardinality(p_visits), 0) = 0 then return; end if;
  perform plan_reminder_rows(p_visits);
  with found as materialized (
    select m.id, m.status, m.visit_key, v.id as visit_id, v.target_date as present,
           coalesce(m.target_date, reminder_target(m.kind, m.days_before, m.due_at,
             (select coalesce(p.timezone, t.timezone, s.timezone) from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id where p.id = m.participant_id),
             v.target_date, v.window_close)) as target,
           m.status = 'pending' and exists (
             select from notifications a
             where a.of_visit_key = m.visit_key and a.target_date = v.target_date and a.kind = m.kind and a.channel = m.channel and a.days_before is not distinct from m.days_before) as again
    from unnest(p_visits) v join notifications m on m.visit_key = v.visit_key
    where v.status in ('scheduled', 'open', 'missed')
      and (m.status = 'pending' or m.status = 'sent' and (m.kind = 'visit_reminder' or v.status = 'missed'))
  ), changed as (
    update notifications n set
      target_date = case when f.status = 'sent' then f.target else n.target_date end,
      of_visit_key = case when f.status = 'sent' then n.visit_key else n.of_visit_key end,
      visit_key = case when f.status = 'sent' then null else n.visit_key end,
      status = case when f.status = 'sent' then 'sent' else 'cancelled' end,
      reason = case when f.status = 'sent' then n.reason when f.again then 'already_sent' else 'visit_moved' end
    from found f
    where n.id = f.id and n.status = f.status and n.visit_key is not null
      and (f.again or f.target <> f.present and (f.status = 'sent' or n.fallback_of is not null))
    returning f.visit_id, n.status
  )
  select array_agg(distinct c.visit_id) into moved from changed c where c.status = 'sent';
  if moved is not null then
    perform plan_reminder_rows(array(select v::visit_to_plan from unnest(p_visits) v where v.id = any (moved)));
  end if;
end $$;

-- Plans a reminder on another channel in place of one that did not arrive. It is due as that one was.
create function remind_instead(p_id uuid, p_channel text) returns void language plpgsql as $$
begin
  update notifications f set of_visit_key = f.visit_key, visit_key = null
  from notifications n
  where n.id = p_id and f.visit_key = n.visit_key and f.kind = n.kind and f.channel = p_channel and f.days_before is not distinct from n.days_before
    and f.status = 'sent' and f.target_date <> n.target_date;
  insert into notifications as f (study_id, participant_id, visit_id, visit_key, kind, channel, days_before, target_date, due_at, attempt_at, fallback_of)
  select n.study_id, n.participant_id, n.visit_id, n.visit_key, n.kind, p_channel, n.days_before, n.target_date, n.due_at, now(), n.id
  from notifications n
  where n.id = p_id and n.visit_key is not null
    and not exists (
      select from notifications a
      where a.of_visit_key = n.visit_key and a.target_date = n.target_date and a.kind = n.kind and a.channel = p_channel and a.days_before is not distinct from n.days_before)
  on conflict (visit_key, kind, channel, days_before) where visit_key is not null do update
    set status = 'pending', reason = null, due_at = excluded.due_at, attempt_at = excluded.attempt_at, visit_id = excluded.visit_id,
        target_date = excluded.target_date, fallback_of = excluded.fallback_of
    where f.status in ('cancelled', 'suppressed', 'failed') and f.due_at <> excluded.due_at;
end $$;
`;
