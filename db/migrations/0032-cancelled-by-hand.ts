/**
 * Whether a user cancelled a visit: it stays cancelled in later schedules. Visits cancelled with a proposal return with
 * the next one.
 */
export const name = '0032-cancelled-by-hand';
export const up = `
alter table scheduled_visits add column cancelled_by_hand boolean not null default false,
  add constraint scheduled_visits_cancelled_by_hand_check check (not cancelled_by_hand or status = 'cancelled');
select set_config('app.studies', '*', true);
update scheduled_visits v set cancelled_by_hand = true where v.status = 'cancelled'
  and exists (select from audit_log a where a.study_id = v.study_id and a.action = 'visit_cancelled' and a.resource_id = v.id::text);
`;
