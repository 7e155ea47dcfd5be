/** Messages of one subject keep their order: the relay looks for an older one of each, also among thousands. */
export const name = '0013-outbox-subject';
export const up = `
create index outbox_subject on outbox (subject, id);
`;
