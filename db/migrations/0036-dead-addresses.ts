/** Addresses whose messages bounced, and the sending pace that message providers request. */
export const name = '0036-dead-addresses';
export const up = `
-- The address itself stands with the participant alone: a change of it ends the row.
create table dead_addresses (
  participant_id uuid not null references participants on delete cascade,
  channel varchar(10) not null check (channel in ('email','sms')),
  study_id uuid not null references studies on delete cascade,
  notification_id uuid references notifications on delete set null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (participant_id, channel)
);
select isolate_by_study('dead_addresses');

-- Before the trigger that plans reminders again (triggers run by name): it must find the new address good.
create function address_changed() returns trigger language plpgsql as $$
begin
  delete from dead_addresses where participant_id = new.id
    and (channel = 'email' and old.email is distinct from new.email or channel = 'sms' and old.phone is distinct from new.phone);
  return null;
end $$;
create trigger address_changed after update of email, phone on participants for each row
  when ((old.email, old.phone) is distinct from (new.email, new.phone)) execute function address_changed();

-- When a channel's provider may be given the next message, all workers together; a row only where a limit is set.
create table provider_paces (
  channel varchar(10) primary key check (channel in ('email','sms','push')),
  next_at timestamptz not null default clock_timestamp()
);
grant select, insert, update on provider_paces to research_app;
`;
