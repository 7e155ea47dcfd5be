/** Implausible times of a session: the session is kept, and flagged. */
export const name = '0061-session-flags';
export const up = `
alter table assessment_sessions
  -- [{code, message}]
  add column quality_flags jsonb not null default '[]';
`;
