/** The relay claims messages to persons separately. */
export const name = '0026-message-lane';
export const up = `
create index outbox_messages on outbox (available_at, id) where topic in ('notification', 'user-link');
`;
