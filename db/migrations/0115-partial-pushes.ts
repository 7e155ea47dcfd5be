/** A push of which some fields were refused has failed; the record has the others, which no other visit replaces. */
export const name = '0115-partial-pushes';
export const up = `
alter table push_attempts drop constraint push_attempts_check1;
alter table push_attempts add constraint push_attempts_check1
  check (status = 'failed' or (status = 'success') = (records_imported is not null));
`;
