/** Subscriptions to a study's events, their deliveries, and an order in which events can be followed. */
export const name = '0023-events';
export const up = `
-- Numbers are given when a row is written, commits come in another order. Who follows the events reads those of
-- transactions that no running one is older than, in this order, and misses none.
alter table domain_events add column tx xid8;
alter table domain_events alter column tx set default pg_current_xact_id();
create index domain_events_followed on domain_events (study_id, coalesce(tx, '0'), seq);

create table event_subscriptions (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  url text not null,
  description text,
  events text[] not null check (cardinality(events) > 0),
  -- the next event waits until the one before it has arrived or was given up
  ordered boolean not null default false,
  status varchar(20) not null default 'active' check (status in ('active','disabled')),
  disabled_reason text,
  disabled_at timestamptz,
  secret_encrypted text not null,
  -- for a while after a change of the secret deliveries bear both signatures
  previous_secret_encrypted text,
  previous_secret_until timestamptz,
  created_by_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check ((status = 'disabled') = (disabled_at is not null)),
  check ((previous_secret_encrypted is null) = (previous_secret_until is null))
);
create index event_subscriptions_study on event_subscriptions (study_id) where status = 'active';
create trigger touch before update on event_subscriptions for each row execute function touch_updated_at();
select isolate_by_study('event_subscriptions');

-- One event on its way to one subscription. 'failed' is given up: a dead letter, that can be sent again by hand.
create table event_deliveries (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  study_id uuid not null references studies on delete cascade,
  subscription_id uuid not null references event_subscriptions on delete cascade,
  event_id uuid not null references domain_events on delete cascade,
  status varchar(20) not null default 'pending' check (status in ('pending','delivered','failed')),
  attempts integer not null default 0,
  response_status integer,
  last_error text,
  last_attempt_at timestamptz,
  next_attempt_at timestamptz default clock_timestamp(),
  -- when the worker's own look takes it up: the first attempt, one whose process died, one whose workflow was lost
  available_at timestamptz not null default clock_timestamp(),
  give_up_at timestamptz,
  delivered_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  unique (subscription_id, event_id),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check (status <> 'delivered' or delivered_at is not null)
);
create index event_deliveries_due on event_deliveries (subscription_id, available_at) where status = 'pending';
create index event_deliveries_head on event_deliveries (subscription_id, seq) where status = 'pending';
create index event_deliveries_listing on event_deliveries (subscription_id, seq desc);
select isolate_by_study('event_deliveries');

-- In the commit of the event, from any writer: no event is lost because the worker was down.
create function address_events() returns trigger language plpgsql as $$
begin
  insert into event_deliveries (study_id, subscription_id, event_id)
  select n.study_id, s.id, n.id from written n join event_subscriptions s on s.study_id = n.study_id and s.status = 'active' and n.type = any (s.events)
  order by n.seq;
  return null;
end $$;
create trigger address_events after insert on domain_events referencing new table as written for each statement execute function address_events();
`;
