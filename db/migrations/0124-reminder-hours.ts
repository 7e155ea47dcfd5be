/**
 * A message that a visit was missed, and has yet to be sent, follows the time zone of participant, site or study, and the
 * hour of the study, as reminders do. A reminder that moves to another time has not been tried for it.
 */
const VISIT =
  'row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan';
/** Plans what has yet to be told of missed visits again. */
const missed = (
  whose: string,
): string => `perform plan_reminders(array(select distinct ${VISIT} from notifications n join scheduled_visits v on v.id = n.visit_id
    join participants p on p.id = n.participant_id
    where ${whose} and n.kind = 'visit_missed' and n.status = 'pending' and n.visit_key is not null and v.status = 'missed'));`;

export const name = '0124-reminder-hours';
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
                when k.kind = 'visit_reminder' and (v.status = 'missed' or v.window_close < (clock_timestamp() at time zone z.zone)::date) then 'visit_over' end as stopped,
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

create or replace function participant_reminders() returns trigger language plpgsql as $$
begin
  if new.status = 'withdrawn' then
    update notifications set status = 'cancelled', reason = 'withdrawn' where participant_id = new.id and visit_key is not null and status = 'pending';
  else
    perform plan_reminders(array(select ${VISIT} from scheduled_visits v where v.participant_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
    ${missed('n.participant_id = new.id')}
  end if;
  return null;
end $$;

create or replace function study_reminders() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(select ${VISIT} from scheduled_visits v where v.study_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
  ${missed('n.study_id = new.id')}
  update notifications n set status = 'cancelled', reason = 'rule_removed'
  where n.study_id = new.id and n.visit_key is not null and n.status = 'pending' and n.fallback_of is null
    and not exists (select from reminder_rules(new.config) r where r.channel = n.channel and (n.kind <> 'visit_reminder' or r.days_before = n.days_before));
  return null;
end $$;

create or replace function site_reminders() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(
    select ${VISIT} from scheduled_visits v join participants p on p.id = v.participant_id
    where p.site_id = new.id and p.status = 'enrolled' and v.status in ('scheduled', 'open') and v.window_close >= current_date - 2));
  ${missed('n.study_id = new.study_id and p.site_id = new.id')}
  return null;
end $$;
`;
