/** A session's local id belongs to its participant: two devices may use the same numbers. */
export const name = '0049-local-ids';
export const up = `
-- What was unique in a study is unique for its participants. The new index before the old one goes: at no instant may a
-- participant's session be there twice. A release that looks by study and local id finds what it did, if more of it.
create unique index assessment_sessions_own on assessment_sessions (participant_id, local_id) where local_id is not null;
drop index assessment_sessions_local;
`;
