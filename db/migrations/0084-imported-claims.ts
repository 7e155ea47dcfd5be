/**
 * A full import's claims about persons: that rows were imported, by whom, and the document's persons, as text. A signed
 * form states whether this service signed its document.
 */
export const name = '0084-imported-claims';
export const up = ['form_instances', 'eligibility_assessments', 'anchor_date_history', 'override_requests']
  .map(
    (table) => `
alter table ${table}
  add column imported boolean not null default false,
  add column imported_by uuid,
  add column original_users jsonb${table === 'form_instances' ? ',\n  add column signature_verified boolean' : ''};`,
  )
  .join('').concat(`
-- A person who asked or decided elsewhere is unknown here.
alter table override_requests alter column requested_by_id drop not null;
alter table override_requests drop constraint override_requests_check1;
alter table override_requests add constraint override_requests_check1
  check (status <> 'approved' or ((decided_by_id is not null or imported) and decided_at is not null));
`);
