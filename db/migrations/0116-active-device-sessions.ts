/** A device's session that has not ended is read by its public id: there are few, and all sessions were read for it. */
export const name = '0116-active-device-sessions';
export const up = `
create index assessment_sessions_of_devices on assessment_sessions (id) where status = 'active' and source = 'offline';
`;
