/** The author of a waiver: its approver must be another person. */
export const name = '0074-waiver-approval';
export const up = `
-- Null: written by its approver before the column existed.
alter table eligibility_assessments add column waiver_requested_by_id uuid references users;
`;
