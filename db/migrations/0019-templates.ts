/** Study designs saved as templates; the built-in ones are files (api/templates). */
export const name = '0019-templates';
export const up = `
create table study_templates (
  id varchar(100) primary key,
  study_id uuid not null references studies on delete cascade,
  name varchar(300) not null,
  category varchar(100) not null,
  description text not null default '',
  content json not null,
  created_by_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  check (id ~ '^[a-z0-9]+(-[a-z0-9]+)*$')
);
create index study_templates_study on study_templates (study_id);
select isolate_by_study('study_templates');
`;
