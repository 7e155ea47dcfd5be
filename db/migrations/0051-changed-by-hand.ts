/** The name, battery and event that a schedule gave a visit before a user changed them. */
export const name = '0051-changed-by-hand';
export const up = `
-- Null: nobody has changed it. A schedule that still has the same there leaves what was given.
alter table scheduled_visits add column changed_from jsonb;
`;
