/** Studies, sites, participants and the facts that an anchor date is decided from. */
export const name = '0002-studies';
export const up = `
create table studies (
  id uuid primary key default gen_random_uuid(),
  study_code varchar(64) not null unique,
  study_name varchar(300) not null,
  description text,
  status varchar(20) not null default 'active' check (status in ('draft','active','paused','completed','archived')),
  start_date date,
  end_date date,
  timezone varchar(50) not null default 'UTC',
  integration_mode varchar(20) not null default 'standalone' check (integration_mode in ('standalone','datacapture')),
  datacapture_enabled boolean not null default false,
  consent_mode varchar(20) not null default 'econsent' check (consent_mode in ('none','external','econsent')),
  config jsonb not null default '{}',
  policy_version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (end_date is null or start_date is null or end_date >= start_date)
);
create trigger touch before update on studies for each row execute function touch_updated_at();
select isolate_by_study('studies', 'id');

create table user_studies (
  user_id uuid not null references users on delete cascade,
  study_id uuid not null references studies on delete cascade,
  primary key (user_id, study_id)
);

create table sites (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  site_code varchar(64) not null,
  name varchar(300),
  timezone varchar(50),
  status varchar(20) not null default 'active' check (status in ('active','inactive')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (study_id, site_code)
);
create trigger touch before update on sites for each row execute function touch_updated_at();
select isolate_by_study('sites');

create table user_sites (
  user_id uuid not null references users on delete cascade,
  site_id uuid not null references sites on delete cascade,
  primary key (user_id, site_id)
);
grant select, insert, update, delete on user_studies, user_sites to research_app;

create table enrollment_policies (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  policy_version integer not null,
  policy jsonb not null,
  author_id uuid references users,
  created_at timestamptz not null default clock_timestamp(),
  unique (study_id, policy_version)
);
select isolate_by_study('enrollment_policies');

create table participants (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_code varchar(64) not null,
  external_id varchar(200),
  site_id uuid references sites,
  preferred_language varchar(35),
  status varchar(20) not null default 'enrolled' check (status in ('enrolled','withdrawn')),
  enrollment_date date,
  email varchar(320),
  phone varchar(40),
  timezone varchar(50),
  date_of_birth date,
  arm varchar(100),
  withdrawn_at timestamptz,
  withdrawal_reason text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (study_id, participant_code),
  check ((status = 'withdrawn') = (withdrawn_at is not null))
);
create unique index participants_external on participants (study_id, external_id) where external_id is not null;
create index participants_listing on participants (study_id, created_at, id);
create index participants_site on participants (site_id);
create trigger touch before update on participants for each row execute function touch_updated_at();
select isolate_by_study('participants');

create table consents (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  consent_version_id varchar(200),
  status varchar(20) not null default 'pending' check (status in ('pending','signed','declined','revoked')),
  signed_at timestamptz,
  purpose varchar(200),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check (status <> 'signed' or signed_at is not null)
);
create index consents_participant on consents (participant_id);
create trigger touch before update on consents for each row execute function touch_updated_at();
select isolate_by_study('consents');

create table eligibility_assessments (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null unique references participants on delete cascade,
  status varchar(20) not null default 'pending' check (status in ('pending','eligible','ineligible','deferred')),
  inclusion_criteria jsonb not null default '{}',
  exclusion_criteria jsonb not null default '{}',
  confirmed_at timestamptz,
  confirmed_by_id uuid references users,
  has_waiver boolean not null default false,
  waiver_criteria_ids jsonb not null default '[]',
  waiver_reason text,
  waiver_approved_by_id uuid references users,
  waiver_approved_at timestamptz,
  source_documents jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check (status <> 'eligible' or confirmed_at is not null)
);
create trigger touch before update on eligibility_assessments for each row execute function touch_updated_at();
select isolate_by_study('eligibility_assessments');

create table randomizations (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null unique references participants on delete cascade,
  arm varchar(100) not null,
  randomized_at timestamptz not null,
  stratum varchar(200),
  created_at timestamptz not null default clock_timestamp()
);
select isolate_by_study('randomizations');

create table form_instances (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  form_oid varchar(200) not null,
  status varchar(20) not null default 'draft' check (status in ('draft','complete','signed','locked')),
  items jsonb not null default '{}',
  signed_at timestamptz,
  signed_by_id uuid references users,
  locked_at timestamptz,
  -- 'datacapture': the mapped values of the enrollment instrument, one row per participant
  origin varchar(20) not null default 'service' check (origin in ('service','datacapture')),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index form_instances_participant on form_instances (participant_id, form_oid);
create trigger touch before update on form_instances for each row execute function touch_updated_at();
select isolate_by_study('form_instances');

-- The date that somebody entered by hand: a fact beside the others, withdrawn by a cancel, never overwritten.
create table manual_anchor_entries (
  id uuid primary key default gen_random_uuid(),
  study_id uuid not null references studies on delete cascade,
  participant_id uuid not null references participants on delete cascade,
  enrollment_date date not null,
  entered_by_user_id uuid,
  reason text,
  entered_at timestamptz not null default clock_timestamp(),
  withdrawn_at timestamptz
);
create unique index manual_anchor_entries_current on manual_anchor_entries (participant_id) where withdrawn_at is null;
select isolate_by_study('manual_anchor_entries');
`;
