/**
 * The signing keys of authorizations of messages to workflows, and the authorization under which a command was
 * executed.
 */
export const name = '0086-message-authorizations';
export const up = `
create table message_keys (
  key_id varchar(64) primary key,
  public_key text not null,
  registered_at timestamptz not null default clock_timestamp(),
  superseded_at timestamptz
);
grant select, insert, update on message_keys to research_app;
alter table anchor_commands add column authorization_id uuid;
create unique index anchor_commands_authorization on anchor_commands (authorization_id) where authorization_id is not null;
`;
