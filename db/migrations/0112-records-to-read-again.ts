/** A record of which something was left to be taken later (an unknown site, a taken code) is read again, unchanged as it is. */
export const name = '0112-records-to-read-again';
export const up = `
alter table datacapture_records add column read_again boolean not null default false;
-- A reading that was forgotten by former releases.
update datacapture_records set read_again = true where reading_hash is null and read_at is not null;
create index datacapture_records_read_again on datacapture_records (study_id) where read_again;
`;
