/** A waiting trigger counts the earlier ones of its record. */
export const name = '0011-waiting-triggers';
export const up = `
create index webhook_events_waiting on webhook_events (study_id, record) where status in ('received', 'processing');
`;
