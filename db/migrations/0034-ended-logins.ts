/** Ending a login also ends its access tokens. */
export const name = '0034-ended-logins';
export const up = `
-- Whether a login (a family of refresh tokens) was ended: by its user, by a logout, or since a used token came again.
-- Families are only ever ended whole. In plpgsql, so that each connection plans it once.
create function login_ended(p_login uuid) returns boolean language plpgsql stable as
  $$ begin return exists (select from refresh_tokens r where r.family_id = p_login and r.revoked_at is not null); end $$;
`;
