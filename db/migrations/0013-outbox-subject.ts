/** Messages of one subject keep their order: an index for the relay's look-up of an older one, also among thousands. */
export const name = '0013-outbox-subject';
export const up = `
create index outbox_subject on outbox (subject, id);
`;
