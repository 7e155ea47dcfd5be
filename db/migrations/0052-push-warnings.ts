/**
 * Warnings that did not prevent a push, such as values outside of a field's suggested range: `[{code, field,
 * message}]`.
 */
export const name = '0052-push-warnings';
export const up = `
alter table push_attempts add column warnings jsonb not null default '[]';
alter table result_pushes add column warnings jsonb not null default '[]';
`;
