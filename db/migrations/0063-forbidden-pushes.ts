/** Marks a failed push that the capture system refused access (its token): a new token may fix it. */
export const name = '0063-forbidden-pushes';
export const up = `
alter table result_pushes add column forbidden boolean not null default false;
update result_pushes set forbidden = true where status = 'failed' and error_type = 'rejected' and message ~ '^The capture system refused \\\\((401|403)\\\\)';
create index result_pushes_forbidden on result_pushes (study_id) where forbidden;
`;
