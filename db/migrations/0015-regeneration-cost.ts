/** Cheaper regeneration of schedules: the additional cost of each row of scheduled_visits. */
export const name = '0015-regeneration-cost';
export const up = `
-- A visit is of its participant's study, and goes with the participant: a second reference to the study says nothing
-- more. Every reference is a query of its own for each row (five of them were a quarter of an insert).
alter table scheduled_visits drop constraint scheduled_visits_study_id_fkey;

-- Visits that are to open and those that are to be missed have indexes of their own since they are looked for by date
-- over all studies; this one is read by nobody any more.
drop index scheduled_visits_due;

-- A visit's key is of one participant, so that this guarantees what it did before; and it now finds the visits that
-- count of a participant, for which it was read from end to end (120,000 entries for each 250 of 6,000 participants).
drop index scheduled_visits_one_live;
create unique index scheduled_visits_one_live on scheduled_visits (participant_id, visit_key) where status not in ('superseded', 'cancelled');
`;
