/** Reminders: the database itself plans them with every change of a visit, so that no writer can forget them. */
export const name = '0020-reminders';
export const up = `
alter table notifications
  add column visit_key uuid,
  add column days_before integer check (days_before between 0 and 365),
  add column attempt_at timestamptz,
  add column claimed_until timestamptz,
  add column claimed_by uuid,
  add column resend_of uuid,
  add column fallback_of uuid,
  add column delivery_status varchar(20) check (delivery_status in ('delivered','undelivered')),
  add column draft jsonb;
comment on column notifications.visit_key is 'set: a reminder, sent by the sweep; it moves with the visit of this key';
comment on column notifications.attempt_at is 'when the sweep looks at it next: when it is due, when a claim ends, when a failed attempt is repeated';
comment on column notifications.draft is 'address and words of a message that is written by hand; gone once it is settled';
-- A notification goes with its participant; a reference to the visit would be a check for each of a schedule's rows, and a
-- reading of this whole table for each visit that goes.
alter table notifications drop constraint notifications_visit_id_fkey;
-- Room for the updates that each row sees (claimed, sent; moved to the visit of the next version).
alter table notifications set (fillfactor = 85);
-- One for each visit, kind, rule and channel, for ever: what was sent is not sent again, whatever moves.
create unique index notifications_of_visit on notifications (visit_key, kind, channel, days_before) nulls not distinct where visit_key is not null;
-- Answers an idle sweep by itself, isolation included.
create index notifications_sweep on notifications (attempt_at) include (study_id) where status = 'pending' and visit_key is not null;
create index notifications_listing on notifications (study_id, created_at, id);

-- What the process says of REMINDER_MAX_LATENESS_HOURS: planning judges as the sweep does.
create table reminder_limits (
  only_one boolean primary key default true check (only_one),
  max_lateness interval not null
);
insert into reminder_limits (max_lateness) values (interval '12 hours');
grant select, insert, update on reminder_limits to research_app;

-- Who does not want messages on a channel.
create table notification_opt_outs (
  participant_id uuid not null references participants on delete cascade,
  channel varchar(10) not null check (channel in ('email','sms','push')),
  study_id uuid not null references studies on delete cascade,
  source varchar(10) not null check (source in ('portal','link')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (participant_id, channel)
);
select isolate_by_study('notification_opt_outs');

create table push_tokens (
  id uuid primary key default gen_random_uuid(),
  study_id uuid references studies on delete cascade,
  participant_id uuid references participants on delete cascade,
  user_id uuid references users on delete cascade,
  platform varchar(10) not null check (platform in ('ios','android','web')),
  token varchar(4096) not null,
  created_at timestamptz not null default clock_timestamp(),
  check ((participant_id is null) = (study_id is null)),
  check ((participant_id is null) <> (user_id is null))
);
create unique index push_tokens_of_participant on push_tokens (participant_id, md5(token)) where participant_id is not null;
create unique index push_tokens_of_user on push_tokens (user_id, md5(token)) where user_id is not null;
select isolate_by_study('push_tokens');
-- A user's own device belongs to no study.
create policy user_devices on push_tokens using (study_id is null);

-- A clock time of the settings; what is none counts as not given.
create function clock_time(p text) returns time language sql immutable as $$
  select case when p ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$' then p::time end
$$;

-- The rule of workflows/domain/notifications/planning.ts for sets (a property test holds the two together): at p_send on that
-- day, or where that lies within quiet hours, at their end. A local time that a clock change skips is taken as if the
-- clock had not changed yet (02:30 becomes 03:30); of one that comes twice the second counts.
create function reminder_due(p_day date, p_send time, p_from time, p_to time, p_zone text) returns timestamptz language sql immutable as $$
  select (case
    when p_from is null or p_to is null or p_from = p_to then p_day + p_send
    when p_from < p_to then p_day + case when p_send >= p_from and p_send < p_to then p_to else p_send end
    when p_send >= p_from then p_day + 1 + p_to
    when p_send < p_to then p_day + p_to
    else p_day + p_send end) at time zone p_zone
$$;

-- A study's rules: by email one day before, unless config.notifications says otherwise.
create function reminder_rules(p_config jsonb) returns table (channel text, days_before integer, send_at time, quiet_from time, quiet_to time) language sql immutable as $$
  select c.channel, d.days_before::integer, coalesce(clock_time(n.v ->> 'send_at'), time '09:00'),
         clock_time(n.v #>> '{quiet_hours,from}'), clock_time(n.v #>> '{quiet_hours,to}')
  from (select case when jsonb_typeof(p_config -> 'notifications') = 'object' then p_config -> 'notifications' else '{}' end as v) n
  cross join lateral jsonb_array_elements_text(case when jsonb_typeof(n.v -> 'channels') = 'array' then n.v -> 'channels' else '["email"]' end) c(channel)
  cross join lateral jsonb_array_elements_text(case when jsonb_typeof(n.v -> 'days_before') = 'array' then n.v -> 'days_before' else '[1]' end) d(days_before)
  where c.channel in ('email', 'sms', 'push') and d.days_before ~ '^[0-9]{1,3}$'
$$;

create type visit_to_plan as (id uuid, study_id uuid, participant_id uuid, visit_key uuid, status text, target_date date, window_close date);

-- Brings the reminders of these visits to what holds now: made, moved, stopped or resumed. What was sent, or was
-- cancelled by hand, stays; what a provider refused is tried again only at another time. It is given the rows, not their
-- ids: a plan that was made while the table was small looks for each of thousands of ids in every row.
create function plan_reminders(p_visits visit_to_plan[]) returns void language plpgsql as $$
begin
  if coalesce(cardinality(p_visits), 0) = 0 then return; end if;
  with changed as materialized (
    select v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close from unnest(p_visits) v
    where v.status in ('scheduled', 'open', 'missed')
  ), rules as materialized (
    -- Read once for each study, not for each visit: a study's configuration is long.
    select s.id as study_id, s.timezone, r.*, row_number() over (partition by s.id, r.channel order by r.days_before) = 1 as first from studies s cross join lateral reminder_rules(s.config) r where s.id in (select c.study_id from changed c)
  )
  insert into notifications as n (study_id, participant_id, visit_id, visit_key, kind, channel, days_before, due_at, attempt_at, status, reason)
  select w.study_id, w.participant_id, w.id, w.visit_key, w.kind, w.channel, w.days_before, w.due_at, w.due_at,
         case when w.stopped is not null then 'cancelled' when w.late then 'suppressed' else 'pending' end,
         case when w.stopped is not null then w.stopped when w.late then 'too_late' end
  from (
    select v.id, v.study_id, v.participant_id, v.visit_key, k.kind, r.channel, case when k.kind = 'visit_reminder' then r.days_before end as days_before, d.due_at,
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
  order by w.visit_key, w.kind, w.channel, w.days_before
  on conflict (visit_key, kind, channel, days_before) where visit_key is not null do update
    set visit_id = excluded.visit_id, due_at = excluded.due_at, status = excluded.status, reason = excluded.reason,
        attempt_at = case when n.status = 'pending' and n.due_at = excluded.due_at then n.attempt_at else excluded.attempt_at end
    where n.status <> 'sent' and n.reason is distinct from 'cancelled_by_staff'
      and not (n.status = 'failed' and n.due_at = excluded.due_at)
      and (n.status, n.due_at, n.reason) is distinct from (excluded.status, excluded.due_at, excluded.reason)
       or n.status = 'pending' and n.visit_id <> excluded.visit_id;
end $$;

-- Stops what waits for these visits.
create function stop_reminders(p_visits visit_to_plan[], p_reason text) returns void language sql as $$
  update notifications n set status = 'cancelled', reason = p_reason
  from unnest(p_visits) v where n.visit_key = v.visit_key and n.status = 'pending'
$$;

create function visits_made() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from made v));
  return null;
end $$;
create trigger reminders_made after insert on scheduled_visits referencing new table as made for each statement execute function visits_made();

-- Visits that are superseded are left to what supersedes them (stopSuperseded): most of their reminders move to the next
-- version's visit of the same key, and stopping and taking up each would cost as much as the schedule itself.
create function visits_changed() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(
    select row(n.id, n.study_id, n.participant_id, n.visit_key, n.status, n.target_date, n.window_close)::visit_to_plan from after_change n join before_change o on o.id = n.id
    where n.status in ('scheduled', 'open', 'missed')
      and ((o.target_date, o.window_close) is distinct from (n.target_date, n.window_close)
           or (o.status <> n.status and not (o.status in ('scheduled', 'open') and n.status in ('scheduled', 'open'))))));
  if exists (select from after_change n join before_change o on o.id = n.id where n.status in ('completed', 'cancelled') and o.status <> n.status) then
    perform stop_reminders(array(select row(n.id, n.study_id, n.participant_id, n.visit_key, n.status, n.target_date, n.window_close)::visit_to_plan from after_change n join before_change o on o.id = n.id where n.status = 'completed' and o.status <> n.status), 'completed');
    perform stop_reminders(array(select row(n.id, n.study_id, n.participant_id, n.visit_key, n.status, n.target_date, n.window_close)::visit_to_plan from after_change n join before_change o on o.id = n.id where n.status = 'cancelled' and o.status <> n.status), 'visit_cancelled');
  end if;
  return null;
end $$;
create trigger reminders_changed after update on scheduled_visits referencing old table as before_change new table as after_change for each statement execute function visits_changed();

-- A change of address or zone plans again what is still to come; what is over stays as it is.
create function participant_reminders() returns trigger language plpgsql as $$
begin
  if new.status = 'withdrawn' then
    update notifications set status = 'cancelled', reason = 'withdrawn' where participant_id = new.id and visit_key is not null and status = 'pending';
  else
    perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v where v.participant_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
  end if;
  return null;
end $$;
create trigger reminders after update of timezone, site_id, email, phone, status on participants for each row
  when ((old.timezone, old.site_id, old.email, old.phone, old.status) is distinct from (new.timezone, new.site_id, new.email, new.phone, new.status))
  execute function participant_reminders();

create function study_reminders() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v where v.study_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
  update notifications n set status = 'cancelled', reason = 'rule_removed'
  where n.study_id = new.id and n.visit_key is not null and n.status = 'pending' and n.fallback_of is null
    and not exists (select from reminder_rules(new.config) r where r.channel = n.channel and (n.kind <> 'visit_reminder' or r.days_before = n.days_before));
  return null;
end $$;
create trigger reminders after update of config, timezone on studies for each row
  when (old.config -> 'notifications' is distinct from new.config -> 'notifications' or old.timezone <> new.timezone) execute function study_reminders();

create function site_reminders() returns trigger language plpgsql as $$
begin
  perform plan_reminders(array(
    select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v join participants p on p.id = v.participant_id
    where p.site_id = new.id and p.status = 'enrolled' and v.status in ('scheduled', 'open') and v.window_close >= current_date - 2));
  return null;
end $$;
create trigger reminders after update of timezone on sites for each row when (old.timezone is distinct from new.timezone) execute function site_reminders();

-- Visits that were there before reminders were.
select set_config('app.studies', '*', true);
select plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v where status in ('scheduled', 'open') and window_close >= current_date - 2));
`;
