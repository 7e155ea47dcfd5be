/** The days that a schedule had for a visit when somebody moved it by hand. */
export const name = '0050-moved-by-hand';
export const up = `
-- Null: nobody has moved it. A schedule that still has these days for it leaves it where it was put.
alter table scheduled_visits add column moved_from jsonb;
`;
