/**
 * A login from an address that is no longer the person's ends: it can't be refreshed, and its tokens become invalid. A
 * withdrawal ends persistent logins only: a device may still deliver earlier recordings.
 */
export const name = '0087-portal-tokens-end';
export const up = `
create or replace function end_portal_logins() returns trigger language plpgsql as $$
declare v_moved timestamptz := case when old.email is not null and new.email is distinct from old.email
  or old.phone is not null and new.phone is distinct from old.phone then clock_timestamp() end;
begin
  if tg_table_name = 'participants' then
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where participant_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where participant_id = new.id and used_at is null;
  else
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where caregiver_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where caregiver_id = new.id and used_at is null;
  end if;
  return null;
end $$;
`;
