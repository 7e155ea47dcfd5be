/** Of a push that failed: the capture system did not let the service in (its token), which a new token may mend. */
export const name = '0063-forbidden-pushes';
export const up = `
alter table result_pushes add column forbidden boolean not null default false;
update result_pushes set forbidden = true where status = 'failed' and error_type = 'rejected' and message ~ '^The capture system refused \\\\((401|403)\\\\)';
create index result_pushes_forbidden on result_pushes (study_id) where forbidden;
`;
