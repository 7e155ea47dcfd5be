/** Moving a reminder writes to every index of its row: two of them were unused. */
export const name = '0031-reminder-cost';
export const up = `
drop index notifications_due;
alter table notifications drop constraint notifications_dedupe_key_key;
create unique index notifications_dedupe_key on notifications (dedupe_key) where dedupe_key is not null;
`;
