/**
 * Deliveries of an ordered subscription go out in the order in which streams follow the events: by transaction, and only
 * when no running one could still precede them.
 */
export const name = '0127-ordered-deliveries';
export const up = `
-- Deliveries written so far have none, and come first.
alter table event_deliveries add column tx xid8;
alter table event_deliveries alter column tx set default pg_current_xact_id();
create index event_deliveries_in_order on event_deliveries (subscription_id, coalesce(tx, '0'), seq) where status = 'pending';
`;
