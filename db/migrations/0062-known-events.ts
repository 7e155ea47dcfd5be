/**
 * Events of the capture system by their id, which stays when an event is renamed:
 * `{event_id: {name, label, arm, identity, told, former, gone?, was?}}` (workflows/domain/capture/known-events.ts).
 */
export const name = '0062-known-events';
export const up = `
alter table datacapture_configs add column known_events jsonb not null default '{}';
`;
