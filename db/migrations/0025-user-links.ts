/** Links to users have a table of their own: notifications belong to a study, these do not. */
export const name = '0025-user-links';
export const up = `
-- The token is made when the message is written: until then a link has neither hash nor end.
drop table user_links;
create table user_links (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  purpose varchar(20) not null check (purpose in ('password_reset', 'invitation')),
  created_at timestamptz not null default clock_timestamp(),
  token_hash bytea unique check (octet_length(token_hash) = 32),
  expires_at timestamptz,
  sent_at timestamptz,
  used_at timestamptz,
  check ((token_hash is null) = (expires_at is null))
);
create index user_links_user on user_links (user_id, created_at);
grant select, insert, update, delete on user_links to research_app;
`;
