/**
 * Import claims of consents, randomizations and manual dates: that they were imported, and by whom, as for the records
 * of 0084-imported-claims.
 */
export const name = '0091-more-imported-claims';
export const up = ['consents', 'randomizations', 'manual_anchor_entries']
  .map(
    (table) => `
alter table ${table}
  add column imported boolean not null default false,
  add column imported_by uuid,
  add column original_users jsonb;`,
  )
  .join('');
