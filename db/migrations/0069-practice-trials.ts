/** Practice trials; and the module of a battery that a task's results belong to. */
export const name = '0069-practice-trials';
export const up = `
-- as many values as trials, or null: none of them says anything of practice
alter table raw_trial_chunks add column practice boolean[];
-- null: the client named none. A battery may hold one task twice.
alter table session_tasks add column module_id uuid;
`;
