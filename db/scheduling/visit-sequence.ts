/**
 * The SEQUENCE of a visit in calendars, as SQL (RFC 5545, 3.8.7.4): the same for feed and mail, over all rows of the
 * visit's key. It never decreases. Each recorded change raises it, also within one second; so does a withdrawal that
 * is recorded for a day in the past, and a change of the study, whose end cancels future visits. `participant` and
 * `key` are SQL.
 */
export const visitSequence = (participant: string, key: string): string => `(
  select floor(extract(epoch from
           greatest(max(q.updated_at), max(owner.withdrawn_at), max(owner.reinstated_at), max(host.updated_at))
           - min(q.created_at)))::integer
       + (select count(*) from visit_states x join scheduled_visits k on k.id = x.visit_id
         where x.participant_id = ${participant} and k.visit_key = ${key})::integer
       + max((owner.status = 'withdrawn')::integer + (owner.reinstated_at is not null)::integer)
  from scheduled_visits q join participants owner on owner.id = q.participant_id
    join studies host on host.id = q.study_id where q.participant_id = ${participant} and q.visit_key = ${key})`;
