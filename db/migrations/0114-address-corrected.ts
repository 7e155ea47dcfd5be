/**
 * A stranger at an address that is no longer the person's keeps nothing of the portal: with the logins end the secret
 * calendar address that the portal showed, and the devices that were registered there.
 */
export const name = '0114-address-corrected';
export const up = `
alter table push_tokens add column via_portal boolean not null default false;

create or replace function end_portal_logins() returns trigger language plpgsql as $$
declare v_moved timestamptz := case when old.email is not null and new.email is distinct from old.email
  or old.phone is not null and new.phone is distinct from old.phone then clock_timestamp() end;
begin
  if tg_table_name = 'participants' then
    if v_moved is not null then
      delete from calendar_feeds where participant_id = new.id and caregiver_id is null
        and exists (select from portal_refresh_tokens t where t.participant_id = new.id);
      delete from push_tokens where participant_id = new.id and caregiver_id is null and via_portal;
    end if;
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where participant_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where participant_id = new.id and used_at is null;
  else
    if v_moved is not null then
      delete from calendar_feeds where caregiver_id = new.id;
      delete from push_tokens where caregiver_id = new.id;
    end if;
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where caregiver_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where caregiver_id = new.id and used_at is null;
  end if;
  return null;
end $$;
`;
