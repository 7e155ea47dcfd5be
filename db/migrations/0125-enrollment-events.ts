/** A project of many arms has an enrollment event in each of them. */
export const name = '0125-enrollment-events';
export const up = `
alter table datacapture_configs alter column enrollment_event type varchar(4000);
`;
