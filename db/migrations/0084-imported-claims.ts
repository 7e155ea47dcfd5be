/**
 * What a full import claims of persons: that it was imported, by whom, and whom the document names, as text. A signed
 * form says whether its document was this service's own.
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
-- Whoever asked or decided elsewhere is nobody here.
alter table override_requests alter column requested_by_id drop not null;
alter table override_requests drop constraint override_requests_check1;
alter table override_requests add constraint override_requests_check1
  check (status <> 'approved' or ((decided_by_id is not null or imported) and decided_at is not null));
`);
