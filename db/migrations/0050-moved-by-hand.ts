/** The dates that a schedule gave a visit before a user moved it. */
export const name = '0050-moved-by-hand';
export const up = `
-- Null: nobody has moved it. A schedule that still has these days for it leaves it where it was put.
alter table scheduled_visits add column moved_from jsonb;
`;
