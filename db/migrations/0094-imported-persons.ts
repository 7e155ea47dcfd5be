/**
 * Import claims of further records that name persons: that they were imported, and by whom, as for those of
 * 0084-imported-claims. An anchor's history has its own claims; the anchor only states that it was imported, where it
 * names nobody who overrode it.
 */
const COLUMNS = `
  add column imported_by uuid,
  add column original_users jsonb,
  add column imported boolean not null default false;`;
const TABLES = [
  'schedule_versions',
  'scheduled_visits',
  'sync_conflicts',
  'assessment_sessions',
  'enrollment_policies',
  'battery_versions',
];
/** Existing rows are valid and are not checked again. */
const check = (table: string, name: string, rule: string): string => `
alter table ${table} drop constraint ${name};
alter table ${table} add constraint ${name} check (${rule}) not valid;`;

export const name = '0094-imported-persons';
export const up = [
  ...TABLES.map((table) => `alter table ${table}${COLUMNS}`),
  'alter table anchor_dates add column imported boolean not null default false;',
  check(
    'anchor_dates',
    'anchor_dates_check3',
    'not is_override or ((override_actor_id is not null or imported) and override_at is not null)',
  ),
  check(
    'anchor_dates',
    'anchor_dates_check4',
    'override_approved is not true or ((override_approved_by_id is not null or imported) and override_approved_at is not null)',
  ),
  check(
    'scheduled_visits',
    'scheduled_visits_check3',
    'case when imported then reviewed_at is not null or reviewed_by_id is null else (reviewed_at is null) = (reviewed_by_id is null) end',
  ),
  check(
    'sync_conflicts',
    'sync_conflicts_check1',
    `(status = 'resolved') = (keep is not null and reason is not null and (resolved_by_id is not null or imported and resolved_at is not null))`,
  ),
].join('\n');
