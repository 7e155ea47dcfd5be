/**
 * Counts a study's visits without looking up participants, and reads a page of them from an index: in a study of two
 * million visits both scanned all visits and participants.
 */
export const name = '0096-visits-of-a-study';
export const up = `
create index scheduled_visits_of_study on scheduled_visits (study_id, target_date, id);

-- Reports group visits by an expression over when they were completed, which has few values. The planner takes it for as
-- many as there are instants, and lets no helper put visits together.
alter table scheduled_visits alter column completed_at set (n_distinct = 1000);

-- What decides the status and adherence of a visit that the calendar of its participant has to be asked for
-- (db/reports/tally.queries.ts).
create type visit_in_doubt as (
  participant_id uuid, status text, window_open date, window_close date, completed_at timestamptz, shift integer);
`;
