/**
 * A session's local id belongs to its participant's device: two devices, or a reinstalled app, use the same numbers.
 */
export const name = '0060-device-ids';
export const up = `
alter table assessment_sessions
  -- the device on which a session began, where it went on on another
  add column started_device_id varchar(200),
  -- what still tells two devices apart when an erasure has removed what they are called
  add column device_key varchar(20);
-- The new index before the old one goes: at no instant may a device's session be there twice.
create unique index assessment_sessions_device on assessment_sessions (participant_id, local_id, coalesce(device_key, hashtextextended(device_id, 0)::text, ''))
  where local_id is not null;
drop index assessment_sessions_own;

create function keep_device_key() returns trigger language plpgsql as $$
begin
  new.device_key := coalesce(old.device_key, hashtextextended(old.device_id, 0)::text);
  new.started_device_id := null;
  return new;
end $$;
create trigger keep_device_key before update of device_id on assessment_sessions for each row
  when (old.device_id is not null and new.device_id is null) execute function keep_device_key();
`;
