/** A waiting trigger counts those of its record that came before it. */
export const name = '0011-waiting-triggers';
export const up = `
create index webhook_events_waiting on webhook_events (study_id, record) where status in ('received', 'processing');
`;
