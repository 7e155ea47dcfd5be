/** A session name that is not its credential: derived from the id, which can't be computed from it. */
export const name = '0083-session-names';
export const up = `
create function session_public_id(session uuid) returns uuid language sql immutable strict parallel safe as
  $$ select encode(substr(sha256(convert_to('session ' || session::text, 'UTF8')), 1, 16), 'hex')::uuid $$;
`;
