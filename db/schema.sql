-- The schema that the migrations make, written by `npm run schema`. Read it; never edit or load it.

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table account_notices (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  kind character varying(40) not null,
  details jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  sent_at timestamp with time zone,
  constraint account_notices_kind_check CHECK (((kind)::text = ANY ((ARRAY['password_changed'::character varying, 'mfa_enabled'::character varying, 'mfa_disabled'::character varying, 'mfa_reset'::character varying, 'recovery_code_used'::character varying, 'recovery_codes_renewed'::character varying, 'new_device'::character varying, 'api_token_created'::character varying, 'account_locked'::character varying, 'reauthentication_locked'::character varying])::text[]))),
  constraint account_notices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint account_notices_pkey PRIMARY KEY (id)
);
CREATE INDEX account_notices_user ON public.account_notices USING btree (user_id, kind, created_at);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table anchor_commands (
  id character varying(200) not null,
  study_id uuid not null,
  participant_id uuid not null,
  kind character varying(40) not null,
  outcome jsonb not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  authorization_id uuid,
  constraint anchor_commands_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint anchor_commands_pkey PRIMARY KEY (id)
);
CREATE INDEX anchor_commands_participant ON public.anchor_commands USING btree (participant_id);
CREATE UNIQUE INDEX anchor_commands_authorization ON public.anchor_commands USING btree (authorization_id) WHERE (authorization_id IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: INSERT, SELECT
create table anchor_date_history (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  anchor_date_id uuid not null,
  participant_id uuid not null,
  study_id uuid not null,
  event_type character varying(50) not null,
  anchor_version integer not null,
  enrollment_date_value date,
  enrollment_datetime_value timestamp with time zone,
  "precision" character varying(20) not null,
  timezone character varying(50),
  status_before character varying(20),
  status_after character varying(20) not null,
  source_type character varying(30) not null,
  source_ref jsonb,
  previous_enrollment_date date,
  previous_source_type character varying(30),
  change_delta_days integer,
  actor_user_id uuid,
  actor_type character varying(20) not null,
  reason text,
  ip_address character varying(45),
  user_agent character varying(500),
  request_id character varying(36),
  schedule_version_created_id uuid,
  created_at timestamp with time zone not null default moment(),
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint anchor_date_history_actor_type_check CHECK (((actor_type)::text = ANY ((ARRAY['user'::character varying, 'system'::character varying, 'participant'::character varying, 'workflow'::character varying])::text[]))),
  constraint anchor_date_history_event_type_check CHECK (((event_type)::text = ANY ((ARRAY['PROPOSED'::character varying, 'SET'::character varying, 'CHANGED'::character varying, 'FINALIZED'::character varying, 'OVERRIDE_REQUESTED'::character varying, 'OVERRIDE_GRANTED'::character varying, 'OVERRIDE_DENIED'::character varying])::text[]))),
  constraint anchor_date_history_anchor_date_id_fkey FOREIGN KEY (anchor_date_id) REFERENCES anchor_dates(id) ON DELETE CASCADE,
  constraint anchor_date_history_pkey PRIMARY KEY (id)
);
CREATE INDEX anchor_date_history_participant ON public.anchor_date_history USING btree (participant_id, seq DESC);
CREATE INDEX anchor_date_history_study ON public.anchor_date_history USING btree (study_id, created_at);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.anchor_date_history FOR EACH ROW WHEN ((COALESCE(current_setting('app.erasing'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.anchor_date_history FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table anchor_dates (
  id uuid not null default gen_random_uuid(),
  participant_id uuid not null,
  study_id uuid not null,
  enrollment_date_value date,
  enrollment_datetime_value timestamp with time zone,
  partial_value character varying(10),
  "precision" character varying(20) not null default 'date'::character varying,
  timezone character varying(50),
  source_type character varying(30),
  source_ref jsonb,
  captured_at timestamp with time zone,
  status character varying(20) not null default 'unset'::character varying,
  finalized_at timestamp with time zone,
  finalized_by_id uuid,
  is_override boolean not null default false,
  override_reason text,
  override_actor_id uuid,
  override_at timestamp with time zone,
  override_approved boolean,
  override_approved_by_id uuid,
  override_approved_at timestamp with time zone,
  version integer not null default 1,
  current_schedule_version_id uuid,
  reopened boolean not null default false,
  cancelled_facts text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  reopened_facts text,
  imported boolean not null default false,
  constraint anchor_dates_check CHECK ((((status)::text = 'unset'::text) = (enrollment_date_value IS NULL))),
  constraint anchor_dates_check1 CHECK ((((status)::text = 'unset'::text) OR (source_type IS NOT NULL))),
  constraint anchor_dates_check2 CHECK ((((status)::text = 'finalized'::text) = (finalized_at IS NOT NULL))),
  constraint anchor_dates_check3 CHECK (((NOT is_override) OR (((override_actor_id IS NOT NULL) OR imported) AND (override_at IS NOT NULL)))) NOT VALID,
  constraint anchor_dates_check4 CHECK (((override_approved IS NOT TRUE) OR (((override_approved_by_id IS NOT NULL) OR imported) AND (override_approved_at IS NOT NULL)))) NOT VALID,
  constraint anchor_dates_check5 CHECK (((override_approved_by_id IS NULL) OR (override_approved_by_id <> override_actor_id))),
  constraint anchor_dates_precision_check CHECK ((("precision")::text = ANY ((ARRAY['date'::character varying, 'datetime'::character varying, 'partial_year'::character varying, 'partial_month'::character varying])::text[]))),
  constraint anchor_dates_source_type_check CHECK (((source_type)::text = ANY ((ARRAY['consent_workflow'::character varying, 'eligibility_workflow'::character varying, 'randomization'::character varying, 'form_item'::character varying, 'computed_rule'::character varying, 'manual_entry'::character varying, 'override'::character varying])::text[]))),
  constraint anchor_dates_status_check CHECK (((status)::text = ANY ((ARRAY['unset'::character varying, 'provisional'::character varying, 'finalized'::character varying])::text[]))),
  constraint anchor_dates_version_check CHECK ((version >= 1)),
  constraint anchor_dates_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint anchor_dates_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint anchor_dates_pkey PRIMARY KEY (id),
  constraint anchor_dates_participant_id_key UNIQUE (participant_id)
);
CREATE INDEX anchor_dates_study ON public.anchor_dates USING btree (study_id, status);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.anchor_dates FOR EACH ROW EXECUTE FUNCTION touch_moment();

-- row-level security, forced; research_app may: INSERT, SELECT
create table anchor_decisions (
  history_id uuid not null,
  study_id uuid not null,
  participant_id uuid not null,
  policy_version integer not null,
  facts jsonb not null,
  command jsonb not null,
  trace jsonb not null,
  decision jsonb not null,
  approver_user_id uuid,
  constraint anchor_decisions_history_id_fkey FOREIGN KEY (history_id) REFERENCES anchor_date_history(id) ON DELETE CASCADE,
  constraint anchor_decisions_pkey PRIMARY KEY (history_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.anchor_decisions FOR EACH ROW WHEN ((COALESCE(current_setting('app.erasing'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.anchor_decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table api_tokens (
  id uuid not null,
  user_id uuid not null,
  name character varying(200) not null,
  scopes text[] not null,
  study_ids uuid[] not null,
  token_hash bytea not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_tokens_check CHECK ((expires_at <= (created_at + '366 days'::interval))),
  constraint api_tokens_scopes_check CHECK ((cardinality(scopes) > 0)),
  constraint api_tokens_study_ids_check CHECK ((cardinality(study_ids) > 0)),
  constraint api_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX api_tokens_user ON public.api_tokens USING btree (user_id, created_at);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table assessment_sessions (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  site_id uuid,
  participant_id uuid not null,
  visit_id uuid,
  battery_id integer,
  battery_version integer,
  language character varying(35),
  status character varying(20) not null default 'active'::character varying,
  source character varying(20) not null default 'online'::character varying,
  local_id character varying(200),
  device_id character varying(200),
  clock_skew_ms bigint,
  content_hash character(64),
  start_hash character(64),
  started_by_id uuid,
  started_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone,
  completed_at timestamp with time zone,
  timezone character varying(50),
  sync_status character varying(20),
  synced_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  started_device_id character varying(200),
  device_key character varying(20),
  quality_flags jsonb not null default '[]'::jsonb,
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint assessment_sessions_check CHECK ((((status)::text = 'completed'::text) = (completed_at IS NOT NULL))),
  constraint assessment_sessions_check1 CHECK ((((source)::text = 'online'::text) OR ((local_id IS NOT NULL) AND (content_hash IS NOT NULL)))),
  constraint assessment_sessions_check2 CHECK ((((source)::text = 'offline'::text) OR (expires_at IS NOT NULL))),
  constraint assessment_sessions_source_check CHECK (((source)::text = ANY ((ARRAY['online'::character varying, 'offline'::character varying])::text[]))),
  constraint assessment_sessions_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'completed'::character varying, 'expired'::character varying, 'abandoned'::character varying])::text[]))),
  constraint assessment_sessions_sync_status_check CHECK (((sync_status)::text = ANY ((ARRAY['pending'::character varying, 'synced'::character varying, 'failed'::character varying])::text[]))),
  constraint assessment_sessions_battery_id_fkey FOREIGN KEY (battery_id) REFERENCES batteries(id),
  constraint assessment_sessions_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id),
  constraint assessment_sessions_site_id_fkey FOREIGN KEY (site_id) REFERENCES sites(id),
  constraint assessment_sessions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint assessment_sessions_visit_id_fkey FOREIGN KEY (visit_id) REFERENCES scheduled_visits(id) ON DELETE SET NULL,
  constraint assessment_sessions_pkey PRIMARY KEY (id)
);
CREATE INDEX assessment_sessions_by_local ON public.assessment_sessions USING btree (local_id) WHERE (local_id IS NOT NULL);
CREATE INDEX assessment_sessions_expiring ON public.assessment_sessions USING btree (expires_at) WHERE (((status)::text = 'active'::text) AND ((source)::text = 'online'::text));
CREATE INDEX assessment_sessions_listing ON public.assessment_sessions USING btree (study_id, started_at, id);
CREATE INDEX assessment_sessions_of_devices ON public.assessment_sessions USING btree (id) WHERE (((status)::text = 'active'::text) AND ((source)::text = 'offline'::text));
CREATE INDEX assessment_sessions_participant ON public.assessment_sessions USING btree (participant_id, started_at);
CREATE INDEX assessment_sessions_visit ON public.assessment_sessions USING btree (visit_id) WHERE (visit_id IS NOT NULL);
CREATE UNIQUE INDEX assessment_sessions_device ON public.assessment_sessions USING btree (participant_id, local_id, COALESCE(device_key, ((hashtextextended((device_id)::text, (0)::bigint))::text)::character varying, ''::character varying)) WHERE (local_id IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER keep_device_key BEFORE UPDATE OF device_id ON public.assessment_sessions FOR EACH ROW WHEN (((old.device_id IS NOT NULL) AND (new.device_id IS NULL))) EXECUTE FUNCTION keep_device_key();
CREATE TRIGGER touch BEFORE UPDATE ON public.assessment_sessions FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- no row-level security; research_app may: SELECT
create table audit_chains (
  chain character varying(64) not null,
  study_id uuid,
  seq bigint not null default 0,
  head character(64) not null,
  constraint audit_chains_pkey PRIMARY KEY (chain)
);

-- no row-level security; research_app may: INSERT, SELECT
create table audit_checkpoints (
  id uuid not null default gen_random_uuid(),
  chain character varying(64) not null,
  seq bigint not null,
  head character(64) not null,
  created_at timestamp with time zone not null,
  public_key text not null,
  signature text not null,
  root character(64) not null,
  previous character(64),
  previous_rows bigint not null,
  witness bytea not null,
  peaks text not null,
  key_id character varying(32) not null,
  constraint audit_checkpoints_check CHECK (((seq > previous_rows) AND (octet_length(witness) = (8 * (seq - previous_rows))))),
  constraint audit_checkpoints_pkey PRIMARY KEY (id),
  constraint audit_checkpoints_chain_seq_key UNIQUE (chain, seq)
);
CREATE INDEX audit_checkpoints_listing ON public.audit_checkpoints USING btree (created_at, id);
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.audit_checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.audit_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- row-level security, forced; research_app may: SELECT
create table audit_log (
  seq bigint not null,
  chain character varying(64) not null,
  study_id uuid,
  user_id uuid,
  action character varying(100) not null,
  resource_type character varying(60) not null,
  resource_id character varying(200),
  audit_metadata jsonb not null default '{}'::jsonb,
  request_id character varying(36),
  created_at timestamp with time zone not null,
  prev_hash character(64) not null,
  hash character(64) not null,
  hash_version smallint not null default 1,
  constraint audit_log_pkey PRIMARY KEY (chain, seq),
  constraint audit_log_chain_prev_hash_key UNIQUE (chain, prev_hash)
);
CREATE INDEX audit_log_resource ON public.audit_log USING btree (resource_type, resource_id);
CREATE INDEX audit_log_study ON public.audit_log USING btree (study_id, created_at);
CREATE INDEX audit_log_time ON public.audit_log USING btree (created_at, chain, seq);
CREATE INDEX audit_log_user ON public.audit_log USING btree (user_id, created_at) WHERE (user_id IS NOT NULL);
-- policy audit_read permissive for r using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
-- policy audit_write permissive for a using () check (true)
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- no row-level security; research_app may: INSERT, SELECT, UPDATE
create table audit_verifications (
  id uuid not null default gen_random_uuid(),
  chain character varying(64),
  status character varying(20) not null default 'pending'::character varying,
  requested_by_id uuid,
  rows_verified bigint not null default 0,
  rows_total bigint not null default 0,
  chains_verified integer not null default 0,
  chains_total integer not null default 0,
  state jsonb,
  result jsonb,
  error character varying(500),
  created_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  constraint audit_verifications_check CHECK ((((status)::text = 'completed'::text) = (result IS NOT NULL))),
  constraint audit_verifications_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'completed'::character varying, 'failed'::character varying])::text[]))),
  constraint audit_verifications_requested_by_id_fkey FOREIGN KEY (requested_by_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint audit_verifications_pkey PRIMARY KEY (id)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table batteries (
  id integer not null generated by default as identity,
  study_id uuid not null,
  code character varying(64) not null,
  name character varying(300) not null,
  description text,
  version integer not null default 1,
  status character varying(20) not null default 'draft'::character varying,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  published_version integer,
  constraint batteries_status_check CHECK (((status)::text = ANY ((ARRAY['draft'::character varying, 'published'::character varying, 'retired'::character varying])::text[]))),
  constraint batteries_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint batteries_pkey PRIMARY KEY (id),
  constraint batteries_study_id_code_key UNIQUE (study_id, code)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.batteries FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table battery_modules (
  battery_id integer not null,
  version integer not null,
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  "position" integer not null,
  task character varying(64) not null,
  name character varying(300) not null,
  settings jsonb not null default '{}'::jsonb,
  required boolean not null default true,
  estimated_minutes numeric(6,2) not null default 0,
  constraint battery_modules_estimated_minutes_check CHECK ((estimated_minutes >= (0)::numeric)),
  constraint battery_modules_position_check CHECK (("position" >= 1)),
  constraint battery_modules_battery_id_fkey FOREIGN KEY (battery_id) REFERENCES batteries(id) ON DELETE CASCADE,
  constraint battery_modules_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint battery_modules_pkey PRIMARY KEY (battery_id, version, id),
  constraint battery_modules_position UNIQUE (battery_id, version, "position") DEFERRABLE
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER published_stays BEFORE INSERT OR DELETE OR UPDATE ON public.battery_modules FOR EACH ROW EXECUTE FUNCTION refuse_published_change();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table battery_versions (
  battery_id integer not null,
  version integer not null,
  study_id uuid not null,
  name character varying(300) not null,
  description text,
  published_at timestamp with time zone not null default clock_timestamp(),
  published_by_id uuid,
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint battery_versions_version_check CHECK ((version >= 1)),
  constraint battery_versions_battery_id_fkey FOREIGN KEY (battery_id) REFERENCES batteries(id) ON DELETE CASCADE,
  constraint battery_versions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint battery_versions_pkey PRIMARY KEY (battery_id, version)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER published_stays BEFORE DELETE OR UPDATE ON public.battery_versions FOR EACH ROW EXECUTE FUNCTION refuse_published_change();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table calendar_feeds (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  caregiver_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by_id uuid,
  constraint calendar_feeds_caregiver_id_participant_id_fkey FOREIGN KEY (caregiver_id, participant_id) REFERENCES caregiver_participants(caregiver_id, participant_id) ON DELETE CASCADE,
  constraint calendar_feeds_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint calendar_feeds_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint calendar_feeds_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint calendar_feeds_pkey PRIMARY KEY (id)
);
CREATE INDEX calendar_feeds_caregiver ON public.calendar_feeds USING btree (caregiver_id, participant_id) WHERE (caregiver_id IS NOT NULL);
CREATE INDEX calendar_feeds_study ON public.calendar_feeds USING btree (study_id);
CREATE UNIQUE INDEX calendar_feeds_one ON public.calendar_feeds USING btree (participant_id, COALESCE(caregiver_id, participant_id));
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table capture_questions (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  user_id uuid not null,
  kind character varying(40) not null,
  request_id character varying(36) not null,
  asked_at timestamp with time zone not null default clock_timestamp(),
  recorded_at timestamp with time zone,
  constraint capture_questions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint capture_questions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint capture_questions_pkey PRIMARY KEY (id)
);
CREATE INDEX capture_questions_study ON public.capture_questions USING btree (study_id, asked_at);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table caregiver_participants (
  caregiver_id uuid not null,
  participant_id uuid not null,
  study_id uuid not null,
  relationship character varying(100) not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by uuid,
  constraint caregiver_participants_caregiver_id_study_id_fkey FOREIGN KEY (caregiver_id, study_id) REFERENCES caregivers(id, study_id) ON DELETE CASCADE,
  constraint caregiver_participants_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint caregiver_participants_pkey PRIMARY KEY (caregiver_id, participant_id)
);
CREATE INDEX caregiver_participants_participant ON public.caregiver_participants USING btree (participant_id);
CREATE INDEX caregiver_participants_study ON public.caregiver_participants USING btree (study_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch_caregiver AFTER INSERT OR DELETE OR UPDATE ON public.caregiver_participants FOR EACH ROW WHEN ((COALESCE(current_setting('app.loading_study'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION touch_caregiver();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table caregivers (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  name character varying(200),
  email character varying(320),
  phone character varying(40),
  preferred_language character varying(35),
  status character varying(20) not null default 'active'::character varying,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  session_epoch integer not null default 0,
  constraint caregivers_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'inactive'::character varying])::text[]))),
  constraint caregivers_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint caregivers_pkey PRIMARY KEY (id),
  constraint caregivers_id_study_id_key UNIQUE (id, study_id)
);
CREATE INDEX caregivers_email ON public.caregivers USING btree (lower((email)::text)) WHERE ((email IS NOT NULL) AND ((status)::text = 'active'::text));
CREATE INDEX caregivers_listing ON public.caregivers USING btree (study_id, created_at, id);
CREATE INDEX caregivers_phone ON public.caregivers USING btree (regexp_replace((phone)::text, '[^0-9]'::text, ''::text, 'g'::text)) WHERE ((phone IS NOT NULL) AND ((status)::text = 'active'::text));
-- policy site_isolation restrictive for * using ((( SELECT app_all_sites() AS app_all_sites) OR (study_id <> ALL (( SELECT app_site_studies() AS app_site_studies)::uuid[])) OR (NOT (EXISTS ( SELECT
   FROM caregiver_participants k
  WHERE (k.caregiver_id = caregivers.id)))) OR (EXISTS ( SELECT
   FROM (caregiver_participants k
     JOIN participants p ON ((p.id = k.participant_id)))
  WHERE (k.caregiver_id = caregivers.id))))) check (-)
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER end_portal_logins AFTER UPDATE OF status, email, phone ON public.caregivers FOR EACH ROW WHEN (((((new.status)::text = 'inactive'::text) AND ((old.status)::text <> 'inactive'::text)) OR ((old.email IS NOT NULL) AND ((new.email)::text IS DISTINCT FROM (old.email)::text)) OR ((old.phone IS NOT NULL) AND ((new.phone)::text IS DISTINCT FROM (old.phone)::text)))) EXECUTE FUNCTION end_portal_logins();
CREATE TRIGGER end_tokens BEFORE UPDATE ON public.caregivers FOR EACH ROW WHEN ((((new.status)::text = 'inactive'::text) AND ((old.status)::text <> 'inactive'::text))) EXECUTE FUNCTION end_caregiver_tokens();
CREATE TRIGGER touch BEFORE UPDATE ON public.caregivers FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table consents (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  consent_version_id character varying(200),
  status character varying(20) not null default 'pending'::character varying,
  signed_at timestamp with time zone,
  purpose character varying(200),
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  revoked_at timestamp with time zone,
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint consents_check CHECK ((((status)::text <> 'signed'::text) OR (signed_at IS NOT NULL))),
  constraint consents_revoked_at_check CHECK (((revoked_at IS NULL) OR ((status)::text = 'revoked'::text))),
  constraint consents_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'signed'::character varying, 'declined'::character varying, 'revoked'::character varying])::text[]))),
  constraint consents_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint consents_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint consents_pkey PRIMARY KEY (id)
);
CREATE INDEX consents_participant ON public.consents USING btree (participant_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.consents FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table datacapture_breakers (
  study_id uuid not null,
  connection character(64) not null,
  state character varying(10) not null default 'closed'::character varying,
  consecutive_failures integer not null default 0,
  opened_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  last_error text,
  probe uuid,
  probe_until timestamp with time zone,
  next_slot_at timestamp with time zone not null default clock_timestamp(),
  constraint datacapture_breakers_check CHECK ((((state)::text = 'half_open'::text) = (probe IS NOT NULL))),
  constraint datacapture_breakers_check1 CHECK ((((state)::text = 'closed'::text) = (opened_at IS NULL))),
  constraint datacapture_breakers_state_check CHECK (((state)::text = ANY ((ARRAY['closed'::character varying, 'open'::character varying, 'half_open'::character varying])::text[]))),
  constraint datacapture_breakers_study_id_fkey FOREIGN KEY (study_id) REFERENCES datacapture_configs(study_id) ON DELETE CASCADE,
  constraint datacapture_breakers_pkey PRIMARY KEY (study_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table datacapture_configs (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  api_url text not null,
  api_token_encrypted text not null,
  project_id character varying(100),
  enrollment_instrument character varying(200),
  enrollment_event character varying(4000),
  participant_field_mapping jsonb not null default '{}'::jsonb,
  event_battery_mapping jsonb not null default '{}'::jsonb,
  data_field_mapping jsonb not null default '{}'::jsonb,
  webhook_enabled boolean not null default false,
  webhook_secret_encrypted text,
  webhook_auth character varying(10) not null default 'header'::character varying,
  poll_interval_minutes double precision not null default 60,
  last_webhook_received timestamp with time zone,
  last_sync_at timestamp with time zone,
  sync_status character varying(20) not null default 'pending'::character varying,
  sync_error_message text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  create_missing_sites boolean not null default false,
  polled_at timestamp with time zone,
  known_events jsonb not null default '{}'::jsonb,
  constraint datacapture_configs_poll_interval_minutes_check CHECK ((poll_interval_minutes >= (0)::double precision)),
  constraint datacapture_configs_sync_status_check CHECK (((sync_status)::text = ANY ((ARRAY['pending'::character varying, 'active'::character varying, 'error'::character varying])::text[]))),
  constraint datacapture_configs_webhook_auth_check CHECK (((webhook_auth)::text = ANY ((ARRAY['header'::character varying, 'url'::character varying])::text[]))),
  constraint datacapture_configs_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint datacapture_configs_pkey PRIMARY KEY (id),
  constraint datacapture_configs_study_id_key UNIQUE (study_id)
);
CREATE INDEX datacapture_configs_project ON public.datacapture_configs USING btree (project_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.datacapture_configs FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table datacapture_records (
  study_id uuid not null,
  record character varying(500) not null,
  content_hash character(64),
  read_at timestamp with time zone,
  lease_owner uuid,
  lease_until timestamp with time zone,
  reading_hash character(64),
  vanished_at timestamp with time zone,
  read_again boolean not null default false,
  constraint datacapture_records_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint datacapture_records_pkey PRIMARY KEY (study_id, record)
);
CREATE INDEX datacapture_records_read_again ON public.datacapture_records USING btree (study_id) WHERE read_again;
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table datacapture_sync_records (
  sync_id uuid not null,
  study_id uuid not null,
  record character varying(500) not null,
  "position" integer not null,
  outcome character varying(40),
  participant_id uuid,
  issues jsonb not null default '[]'::jsonb,
  constraint datacapture_sync_records_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE SET NULL,
  constraint datacapture_sync_records_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint datacapture_sync_records_sync_id_fkey FOREIGN KEY (sync_id) REFERENCES datacapture_syncs(id) ON DELETE CASCADE,
  constraint datacapture_sync_records_pkey PRIMARY KEY (sync_id, record)
);
CREATE INDEX datacapture_sync_records_held ON public.datacapture_sync_records USING btree (participant_id) WHERE ((outcome)::text = 'override_required'::text);
CREATE INDEX datacapture_sync_records_open ON public.datacapture_sync_records USING btree (sync_id, "position") WHERE (outcome IS NULL);
CREATE INDEX datacapture_sync_records_participant ON public.datacapture_sync_records USING btree (participant_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table datacapture_syncs (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  kind character varying(10) not null,
  status character varying(20) not null default 'running'::character varying,
  requested_by_id uuid,
  changed_since timestamp with time zone,
  listed boolean not null default false,
  records_total integer not null default 0,
  error_code character varying(60),
  error text,
  started_at timestamp with time zone not null default clock_timestamp(),
  finished_at timestamp with time zone,
  counts jsonb not null default '{}'::jsonb,
  constraint datacapture_syncs_check CHECK ((((status)::text = 'running'::text) = (finished_at IS NULL))),
  constraint datacapture_syncs_kind_check CHECK (((kind)::text = ANY ((ARRAY['sync'::character varying, 'poll'::character varying])::text[]))),
  constraint datacapture_syncs_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'completed'::character varying, 'failed'::character varying])::text[]))),
  constraint datacapture_syncs_requested_by_id_fkey FOREIGN KEY (requested_by_id) REFERENCES users(id),
  constraint datacapture_syncs_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint datacapture_syncs_pkey PRIMARY KEY (id)
);
CREATE INDEX datacapture_syncs_listing ON public.datacapture_syncs USING btree (study_id, started_at DESC);
CREATE UNIQUE INDEX datacapture_syncs_running ON public.datacapture_syncs USING btree (study_id, kind) WHERE ((status)::text = 'running'::text);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table dead_addresses (
  participant_id uuid not null,
  channel character varying(10) not null,
  study_id uuid not null,
  notification_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint dead_addresses_channel_check CHECK (((channel)::text = ANY ((ARRAY['email'::character varying, 'sms'::character varying])::text[]))),
  constraint dead_addresses_notification_id_fkey FOREIGN KEY (notification_id) REFERENCES notifications(id) ON DELETE SET NULL,
  constraint dead_addresses_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint dead_addresses_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint dead_addresses_pkey PRIMARY KEY (participant_id, channel)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: INSERT, SELECT
create table domain_events (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  type character varying(60) not null,
  study_id uuid not null,
  participant_id uuid,
  occurred_at timestamp with time zone not null default clock_timestamp(),
  data jsonb not null default '{}'::jsonb,
  tx xid8 default pg_current_xact_id(),
  constraint domain_events_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint domain_events_pkey PRIMARY KEY (id)
);
CREATE INDEX domain_events_followed ON public.domain_events USING btree (study_id, COALESCE(tx, '0'::xid8), seq);
CREATE INDEX domain_events_participation ON public.domain_events USING btree (participant_id, seq) WHERE ((type)::text = ANY ((ARRAY['PARTICIPANT_WITHDRAWN'::character varying, 'PARTICIPANT_REINSTATED'::character varying])::text[]));
CREATE INDEX domain_events_study ON public.domain_events USING btree (study_id, seq);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER address_events AFTER INSERT ON public.domain_events REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION address_events();
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.domain_events FOR EACH ROW WHEN ((COALESCE(current_setting('app.erasing'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.domain_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table eligibility_assessments (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  status character varying(20) not null default 'pending'::character varying,
  inclusion_criteria jsonb not null default '{}'::jsonb,
  exclusion_criteria jsonb not null default '{}'::jsonb,
  confirmed_at timestamp with time zone,
  confirmed_by_id uuid,
  has_waiver boolean not null default false,
  waiver_criteria_ids jsonb not null default '[]'::jsonb,
  waiver_reason text,
  waiver_approved_by_id uuid,
  waiver_approved_at timestamp with time zone,
  source_documents jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  waiver_requested_by_id uuid,
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint eligibility_assessments_check CHECK ((((status)::text <> 'eligible'::text) OR (confirmed_at IS NOT NULL))),
  constraint eligibility_assessments_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'eligible'::character varying, 'ineligible'::character varying, 'deferred'::character varying])::text[]))),
  constraint eligibility_assessments_confirmed_by_id_fkey FOREIGN KEY (confirmed_by_id) REFERENCES users(id),
  constraint eligibility_assessments_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint eligibility_assessments_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint eligibility_assessments_waiver_approved_by_id_fkey FOREIGN KEY (waiver_approved_by_id) REFERENCES users(id),
  constraint eligibility_assessments_waiver_requested_by_id_fkey FOREIGN KEY (waiver_requested_by_id) REFERENCES users(id),
  constraint eligibility_assessments_pkey PRIMARY KEY (id),
  constraint eligibility_assessments_participant_id_key UNIQUE (participant_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.eligibility_assessments FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table enrollment_policies (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  policy_version integer not null,
  policy jsonb not null,
  author_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint enrollment_policies_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id),
  constraint enrollment_policies_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint enrollment_policies_pkey PRIMARY KEY (id),
  constraint enrollment_policies_study_id_policy_version_key UNIQUE (study_id, policy_version)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table event_definitions (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  event_oid character varying(200) not null,
  name character varying(300) not null,
  target_day integer not null,
  window_before integer not null default 0,
  window_after integer not null default 7,
  battery_id integer,
  is_baseline boolean not null default false,
  repeat_count integer,
  repeat_every_days integer,
  datacapture_event character varying(200),
  sort_order integer not null default 0,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint event_definitions_check CHECK (((repeat_count IS NULL) = (repeat_every_days IS NULL))),
  constraint event_definitions_repeat_count_check CHECK ((repeat_count >= 1)),
  constraint event_definitions_repeat_every_days_check CHECK ((repeat_every_days >= 1)),
  constraint event_definitions_window_after_check CHECK ((window_after >= 0)),
  constraint event_definitions_window_before_check CHECK ((window_before >= 0)),
  constraint event_definitions_battery_id_fkey FOREIGN KEY (battery_id) REFERENCES batteries(id),
  constraint event_definitions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint event_definitions_pkey PRIMARY KEY (id),
  constraint event_definitions_study_id_event_oid_key UNIQUE (study_id, event_oid)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.event_definitions FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table event_deliveries (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  study_id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  status character varying(20) not null default 'pending'::character varying,
  attempts integer not null default 0,
  response_status integer,
  last_error text,
  last_attempt_at timestamp with time zone,
  next_attempt_at timestamp with time zone default clock_timestamp(),
  available_at timestamp with time zone not null default clock_timestamp(),
  give_up_at timestamp with time zone,
  delivered_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  tx xid8 default pg_current_xact_id(),
  constraint event_deliveries_check CHECK ((((status)::text = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  constraint event_deliveries_check1 CHECK ((((status)::text <> 'delivered'::text) OR (delivered_at IS NOT NULL))),
  constraint event_deliveries_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'delivered'::character varying, 'failed'::character varying])::text[]))),
  constraint event_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES domain_events(id) ON DELETE CASCADE,
  constraint event_deliveries_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint event_deliveries_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES event_subscriptions(id) ON DELETE CASCADE,
  constraint event_deliveries_pkey PRIMARY KEY (id),
  constraint event_deliveries_subscription_id_event_id_key UNIQUE (subscription_id, event_id)
);
CREATE INDEX event_deliveries_due ON public.event_deliveries USING btree (subscription_id, available_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX event_deliveries_head ON public.event_deliveries USING btree (subscription_id, seq) WHERE ((status)::text = 'pending'::text);
CREATE INDEX event_deliveries_in_order ON public.event_deliveries USING btree (subscription_id, COALESCE(tx, '0'::xid8), seq) WHERE ((status)::text = 'pending'::text);
CREATE INDEX event_deliveries_listing ON public.event_deliveries USING btree (subscription_id, seq DESC);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table event_subscriptions (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  url text not null,
  description text,
  events text[] not null,
  ordered boolean not null default false,
  status character varying(20) not null default 'active'::character varying,
  disabled_reason text,
  disabled_at timestamp with time zone,
  secret_encrypted text not null,
  previous_secret_encrypted text,
  previous_secret_until timestamp with time zone,
  created_by_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint event_subscriptions_check CHECK ((((status)::text = 'disabled'::text) = (disabled_at IS NOT NULL))),
  constraint event_subscriptions_check1 CHECK (((previous_secret_encrypted IS NULL) = (previous_secret_until IS NULL))),
  constraint event_subscriptions_events_check CHECK ((cardinality(events) > 0)),
  constraint event_subscriptions_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'disabled'::character varying])::text[]))),
  constraint event_subscriptions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint event_subscriptions_pkey PRIMARY KEY (id)
);
CREATE INDEX event_subscriptions_study ON public.event_subscriptions USING btree (study_id) WHERE ((status)::text = 'active'::text);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.event_subscriptions FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table exports (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  requested_by_id uuid not null,
  site_id uuid,
  dataset character varying(40) not null,
  format character varying(10) not null,
  filters jsonb not null default '{}'::jsonb,
  status character varying(20) not null default 'pending'::character varying,
  progress real not null default 0,
  rows bigint,
  size bigint,
  sha256 character(64),
  error character varying(500),
  created_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint exports_check CHECK ((((status)::text <> ALL ((ARRAY['completed'::character varying, 'expired'::character varying])::text[])) OR ((size IS NOT NULL) AND (sha256 IS NOT NULL) AND (expires_at IS NOT NULL)))),
  constraint exports_format_check CHECK (((format)::text = ANY ((ARRAY['csv'::character varying, 'json'::character varying, 'ndjson'::character varying, 'xlsx'::character varying, 'zip'::character varying])::text[]))),
  constraint exports_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  constraint exports_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'completed'::character varying, 'failed'::character varying, 'expired'::character varying])::text[]))),
  constraint exports_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint exports_pkey PRIMARY KEY (id)
);
CREATE INDEX exports_study ON public.exports USING btree (study_id, created_at);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table failing_workflows (
  run_id uuid not null,
  workflow_id text not null,
  workflow_type text not null,
  problem text not null,
  found_at timestamp with time zone not null default clock_timestamp(),
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint failing_workflows_pkey PRIMARY KEY (run_id)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table form_instances (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  form_oid character varying(200) not null,
  status character varying(20) not null default 'draft'::character varying,
  items jsonb not null default '{}'::jsonb,
  signed_at timestamp with time zone,
  signed_by_id uuid,
  locked_at timestamp with time zone,
  origin character varying(20) not null default 'service'::character varying,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  signature jsonb,
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  signature_verified boolean,
  constraint form_instances_origin_check CHECK (((origin)::text = ANY ((ARRAY['service'::character varying, 'datacapture'::character varying])::text[]))),
  constraint form_instances_status_check CHECK (((status)::text = ANY ((ARRAY['draft'::character varying, 'complete'::character varying, 'signed'::character varying, 'locked'::character varying])::text[]))),
  constraint form_instances_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint form_instances_signed_by_id_fkey FOREIGN KEY (signed_by_id) REFERENCES users(id),
  constraint form_instances_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint form_instances_pkey PRIMARY KEY (id)
);
CREATE INDEX form_instances_participant ON public.form_instances USING btree (participant_id, form_oid);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER keep_erased_items BEFORE INSERT OR UPDATE OF items ON public.form_instances FOR EACH ROW EXECUTE FUNCTION keep_erased_items();
CREATE TRIGGER touch BEFORE UPDATE ON public.form_instances FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table holiday_calendars (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  site_id uuid,
  name character varying(200) not null,
  is_default boolean not null default false,
  weekend_days jsonb not null default '[6, 7]'::jsonb,
  holidays jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint holiday_calendars_check CHECK (((NOT is_default) OR (site_id IS NULL))),
  constraint holiday_calendars_site_id_fkey FOREIGN KEY (site_id) REFERENCES sites(id) ON DELETE CASCADE,
  constraint holiday_calendars_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint holiday_calendars_pkey PRIMARY KEY (id),
  constraint holiday_calendars_study_id_name_key UNIQUE (study_id, name)
);
CREATE UNIQUE INDEX holiday_calendars_one_default ON public.holiday_calendars USING btree (study_id) WHERE is_default;
CREATE UNIQUE INDEX holiday_calendars_one_per_site ON public.holiday_calendars USING btree (site_id) WHERE (site_id IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.holiday_calendars FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table idempotency_keys (
  caller character varying(80) not null,
  method character varying(10) not null,
  path character varying(500) not null,
  key character varying(200) not null,
  body_hash bytea not null,
  status integer,
  headers jsonb,
  body text,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint idempotency_keys_pkey PRIMARY KEY (caller, method, path, key)
);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table login_failures (
  user_id uuid not null,
  origin character varying(64) not null,
  failures integer not null default 0,
  locked_until timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint login_failures_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint login_failures_pkey PRIMARY KEY (user_id, origin)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table manual_anchor_entries (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  enrollment_date date not null,
  entered_by_user_id uuid,
  reason text,
  entered_at timestamp with time zone not null default clock_timestamp(),
  withdrawn_at timestamp with time zone,
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint manual_anchor_entries_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint manual_anchor_entries_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint manual_anchor_entries_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX manual_anchor_entries_current ON public.manual_anchor_entries USING btree (participant_id) WHERE (withdrawn_at IS NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table message_details (
  id uuid not null,
  study_id uuid not null,
  participant_id uuid not null,
  reason text,
  ip_address character varying(45),
  user_agent character varying(500),
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint message_details_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint message_details_pkey PRIMARY KEY (id)
);
CREATE INDEX message_details_participant ON public.message_details USING btree (participant_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: INSERT, SELECT, UPDATE
create table message_keys (
  key_id character varying(64) not null,
  public_key text not null,
  registered_at timestamp with time zone not null default clock_timestamp(),
  superseded_at timestamp with time zone,
  constraint message_keys_pkey PRIMARY KEY (key_id)
);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table mfa_challenges (
  id uuid not null,
  user_id uuid not null,
  purpose character varying(10) not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint mfa_challenges_purpose_check CHECK (((purpose)::text = ANY ((ARRAY['login'::character varying, 'setup'::character varying])::text[]))),
  constraint mfa_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint mfa_challenges_pkey PRIMARY KEY (id)
);
CREATE INDEX mfa_challenges_user ON public.mfa_challenges USING btree (user_id);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table mfa_recovery_codes (
  user_id uuid not null,
  code_hash bytea not null,
  used_at timestamp with time zone,
  constraint mfa_recovery_codes_code_hash_check CHECK ((octet_length(code_hash) = 32)),
  constraint mfa_recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_mfa(user_id) ON DELETE CASCADE,
  constraint mfa_recovery_codes_pkey PRIMARY KEY (user_id, code_hash)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table notification_opt_outs (
  participant_id uuid not null,
  channel character varying(10) not null,
  study_id uuid not null,
  source character varying(10) not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint notification_opt_outs_channel_check CHECK (((channel)::text = ANY ((ARRAY['email'::character varying, 'sms'::character varying, 'push'::character varying])::text[]))),
  constraint notification_opt_outs_source_check CHECK (((source)::text = ANY ((ARRAY['portal'::character varying, 'link'::character varying])::text[]))),
  constraint notification_opt_outs_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint notification_opt_outs_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint notification_opt_outs_pkey PRIMARY KEY (participant_id, channel)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table notifications (
  id uuid not null default gen_random_uuid(),
  study_id uuid,
  participant_id uuid,
  user_id uuid,
  visit_id uuid,
  subject_id uuid,
  kind character varying(40) not null,
  channel character varying(10) not null,
  status character varying(20) not null default 'pending'::character varying,
  due_at timestamp with time zone not null default clock_timestamp(),
  sent_at timestamp with time zone,
  attempts integer not null default 0,
  last_error text,
  reason text,
  dedupe_key character varying(200),
  created_at timestamp with time zone not null default clock_timestamp(),
  visit_key uuid,
  days_before integer,
  attempt_at timestamp with time zone,
  claimed_until timestamp with time zone,
  claimed_by uuid,
  resend_of uuid,
  fallback_of uuid,
  delivery_status character varying(20),
  draft jsonb,
  caregiver_id uuid,
  of_visit_key uuid,
  target_date date,
  constraint notifications_channel_check CHECK (((channel)::text = ANY ((ARRAY['email'::character varying, 'sms'::character varying, 'push'::character varying])::text[]))),
  constraint notifications_check CHECK ((((status)::text = 'sent'::text) = (sent_at IS NOT NULL))),
  constraint notifications_days_before_check CHECK (((days_before >= 0) AND (days_before <= 365))),
  constraint notifications_delivery_status_check CHECK (((delivery_status)::text = ANY ((ARRAY['delivered'::character varying, 'undelivered'::character varying])::text[]))),
  constraint notifications_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'sent'::character varying, 'failed'::character varying, 'cancelled'::character varying, 'suppressed'::character varying])::text[]))),
  constraint notifications_caregiver_id_fkey FOREIGN KEY (caregiver_id) REFERENCES caregivers(id) ON DELETE CASCADE,
  constraint notifications_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint notifications_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint notifications_pkey PRIMARY KEY (id)
);
CREATE INDEX notifications_caregiver ON public.notifications USING btree (caregiver_id) WHERE (caregiver_id IS NOT NULL);
CREATE INDEX notifications_listing ON public.notifications USING btree (study_id, created_at, id);
CREATE INDEX notifications_of_moved_visit ON public.notifications USING btree (of_visit_key, target_date) WHERE (of_visit_key IS NOT NULL);
CREATE INDEX notifications_participant ON public.notifications USING btree (participant_id);
CREATE INDEX notifications_sweep ON public.notifications USING btree (attempt_at) INCLUDE (study_id) WHERE (((status)::text = 'pending'::text) AND (visit_key IS NOT NULL));
CREATE UNIQUE INDEX notifications_dedupe_key ON public.notifications USING btree (dedupe_key) WHERE (dedupe_key IS NOT NULL);
CREATE UNIQUE INDEX notifications_of_visit ON public.notifications USING btree (visit_key, kind, channel, days_before) NULLS NOT DISTINCT WHERE (visit_key IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table open_study_changes (
  study_id uuid not null,
  change_id character varying(100) not null,
  kind character varying(40) not null,
  actor_user_id uuid,
  begun_at timestamp with time zone not null default clock_timestamp(),
  constraint open_study_changes_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint open_study_changes_pkey PRIMARY KEY (study_id, change_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table outbox (
  id bigint not null generated always as identity,
  topic character varying(40) not null,
  study_id uuid,
  subject character varying(200) not null,
  payload jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  available_at timestamp with time zone not null default clock_timestamp(),
  attempts integer not null default 0,
  last_error text,
  patient boolean not null default false,
  constraint outbox_pkey PRIMARY KEY (id)
);
CREATE INDEX outbox_due ON public.outbox USING btree (available_at, id);
CREATE INDEX outbox_messages ON public.outbox USING btree (available_at, id) WHERE ((topic)::text = ANY ((ARRAY['notification'::character varying, 'user-link'::character varying])::text[]));
CREATE INDEX outbox_patient ON public.outbox USING btree (available_at, id) WHERE patient;
CREATE INDEX outbox_patient_changes ON public.outbox USING btree (available_at, id) WHERE (patient AND ((topic)::text <> 'participant-start'::text));
CREATE INDEX outbox_subject ON public.outbox USING btree (subject, id);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table override_requests (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  previous_enrollment_date date not null,
  new_enrollment_date date not null,
  reason text,
  regenerate_schedule boolean not null default true,
  requested_by_id uuid,
  requested_at timestamp with time zone not null default clock_timestamp(),
  remind_at timestamp with time zone not null,
  reminded_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  status character varying(20) not null default 'pending'::character varying,
  decided_by_id uuid,
  decided_at timestamp with time zone,
  decision_reason text,
  impact jsonb not null,
  preview_hash character varying(64) not null,
  signature jsonb,
  offered_signatures jsonb not null default '{}'::jsonb,
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint override_requests_check CHECK (((decided_by_id IS NULL) OR (decided_by_id <> requested_by_id))),
  constraint override_requests_check1 CHECK ((((status)::text <> 'approved'::text) OR (((decided_by_id IS NOT NULL) OR imported) AND (decided_at IS NOT NULL)))),
  constraint override_requests_check2 CHECK ((((status)::text = 'pending'::text) = (decided_at IS NULL))),
  constraint override_requests_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying, 'denied'::character varying])::text[]))),
  constraint override_requests_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint override_requests_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint override_requests_pkey PRIMARY KEY (id)
);
CREATE INDEX override_requests_inbox ON public.override_requests USING btree (study_id, status);
CREATE UNIQUE INDEX override_requests_one_pending ON public.override_requests USING btree (participant_id) WHERE ((status)::text = 'pending'::text);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table participant_imports (
  study_id uuid not null,
  id uuid not null,
  requested_by_id uuid not null,
  format character varying(10) not null,
  sha256 character(64) not null,
  dry_run boolean not null,
  mode character varying(10) not null,
  status character varying(20) not null default 'running'::character varying,
  phase character varying(20) not null default 'reading'::character varying,
  progress real not null default 0,
  total_rows integer,
  imported_count integer,
  updated_count integer,
  skipped_count integer,
  error_count integer,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  completed_at timestamp with time zone,
  constraint participant_imports_check CHECK ((((status)::text <> 'completed'::text) OR ((total_rows IS NOT NULL) AND (imported_count IS NOT NULL) AND (completed_at IS NOT NULL)))),
  constraint participant_imports_format_check CHECK (((format)::text = ANY ((ARRAY['csv'::character varying, 'excel'::character varying])::text[]))),
  constraint participant_imports_mode_check CHECK (((mode)::text = ANY ((ARRAY['insert'::character varying, 'upsert'::character varying])::text[]))),
  constraint participant_imports_phase_check CHECK (((phase)::text = ANY ((ARRAY['reading'::character varying, 'deciding'::character varying, 'writing'::character varying, 'recording'::character varying, 'done'::character varying])::text[]))),
  constraint participant_imports_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  constraint participant_imports_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'completed'::character varying, 'failed'::character varying])::text[]))),
  constraint participant_imports_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint participant_imports_pkey PRIMARY KEY (study_id, id)
);
CREATE INDEX participant_imports_file ON public.participant_imports USING btree (study_id, sha256);
CREATE INDEX participant_imports_study ON public.participant_imports USING btree (study_id, created_at, id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table participants (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_code character varying(64) not null,
  external_id character varying(200),
  site_id uuid,
  preferred_language character varying(35),
  status character varying(20) not null default 'enrolled'::character varying,
  enrollment_date date,
  email character varying(320),
  phone character varying(40),
  timezone character varying(50),
  date_of_birth date,
  arm character varying(100),
  withdrawn_at timestamp with time zone,
  withdrawal_reason text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  erased_at timestamp with time zone,
  erased_by_id uuid,
  erasure_reason text,
  datacapture_arm integer,
  reinstated_at timestamp with time zone,
  constraint participants_check CHECK ((((status)::text = 'withdrawn'::text) = (withdrawn_at IS NOT NULL))),
  constraint participants_check1 CHECK (((erased_at IS NULL) OR (((status)::text = 'withdrawn'::text) AND (email IS NULL) AND (phone IS NULL) AND (date_of_birth IS NULL)))),
  constraint participants_status_check CHECK (((status)::text = ANY ((ARRAY['enrolled'::character varying, 'withdrawn'::character varying])::text[]))),
  constraint participants_timezone_known CHECK (((timezone IS NULL) OR is_time_zone((timezone)::text))),
  constraint participants_erased_by_id_fkey FOREIGN KEY (erased_by_id) REFERENCES users(id),
  constraint participants_site_id_fkey FOREIGN KEY (site_id) REFERENCES sites(id),
  constraint participants_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint participants_pkey PRIMARY KEY (id),
  constraint participants_study_id_participant_code_key UNIQUE (study_id, participant_code)
);
CREATE INDEX participants_email ON public.participants USING btree (lower((email)::text)) WHERE ((email IS NOT NULL) AND ((status)::text = 'enrolled'::text));
CREATE INDEX participants_listing ON public.participants USING btree (study_id, created_at, id);
CREATE INDEX participants_phone ON public.participants USING btree (regexp_replace((phone)::text, '[^0-9]'::text, ''::text, 'g'::text)) WHERE ((phone IS NOT NULL) AND ((status)::text = 'enrolled'::text));
CREATE INDEX participants_site ON public.participants USING btree (site_id);
CREATE UNIQUE INDEX participants_external ON public.participants USING btree (study_id, external_id) WHERE (external_id IS NOT NULL);
-- policy site_isolation restrictive for * using ((( SELECT app_all_sites() AS app_all_sites) OR (study_id <> ALL (( SELECT app_site_studies() AS app_site_studies)::uuid[])) OR (site_id = ANY (( SELECT app_sites() AS app_sites)::uuid[])))) check (-)
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER address_changed AFTER UPDATE OF email, phone ON public.participants FOR EACH ROW WHEN ((((old.email)::text IS DISTINCT FROM (new.email)::text) OR ((old.phone)::text IS DISTINCT FROM (new.phone)::text))) EXECUTE FUNCTION address_changed();
CREATE TRIGGER end_portal_logins AFTER UPDATE OF status, email, phone ON public.participants FOR EACH ROW WHEN (((((new.status)::text = 'withdrawn'::text) AND ((old.status)::text <> 'withdrawn'::text)) OR ((old.email IS NOT NULL) AND ((new.email)::text IS DISTINCT FROM (old.email)::text)) OR ((old.phone IS NOT NULL) AND ((new.phone)::text IS DISTINCT FROM (old.phone)::text)))) EXECUTE FUNCTION end_portal_logins();
CREATE TRIGGER erase_portal_logins AFTER UPDATE OF erased_at ON public.participants FOR EACH ROW WHEN (((new.erased_at IS NOT NULL) AND (old.erased_at IS NULL))) EXECUTE FUNCTION erase_portal_logins();
CREATE TRIGGER keep_erased BEFORE UPDATE ON public.participants FOR EACH ROW WHEN ((old.erased_at IS NOT NULL)) EXECUTE FUNCTION keep_erased();
CREATE TRIGGER reminders AFTER UPDATE OF timezone, site_id, email, phone, status ON public.participants FOR EACH ROW WHEN (((((((old.timezone)::text IS DISTINCT FROM (new.timezone)::text) OR (old.site_id IS DISTINCT FROM new.site_id)) OR ((old.email)::text IS DISTINCT FROM (new.email)::text)) OR ((old.phone)::text IS DISTINCT FROM (new.phone)::text)) OR ((old.status)::text IS DISTINCT FROM (new.status)::text))) EXECUTE FUNCTION participant_reminders();
CREATE TRIGGER touch BEFORE UPDATE ON public.participants FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table policy_trials (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  requested_by_id uuid not null,
  policy_text text not null,
  status character varying(20) not null default 'running'::character varying,
  seen integer not null default 0,
  total integer not null,
  alive_until timestamp with time zone not null,
  result jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint policy_trials_check CHECK ((((status)::text = 'completed'::text) = (result IS NOT NULL))),
  constraint policy_trials_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'completed'::character varying, 'failed'::character varying])::text[]))),
  constraint policy_trials_requested_by_id_fkey FOREIGN KEY (requested_by_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint policy_trials_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint policy_trials_pkey PRIMARY KEY (id)
);
CREATE INDEX policy_trials_created ON public.policy_trials USING btree (created_at);
CREATE INDEX policy_trials_study ON public.policy_trials USING btree (study_id, requested_by_id);
CREATE INDEX policy_trials_user ON public.policy_trials USING btree (requested_by_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table portal_links (
  notification_id uuid not null,
  study_id uuid not null,
  participant_id uuid,
  token_hash bytea not null,
  made_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  caregiver_id uuid,
  constraint portal_links_of_one CHECK (((participant_id IS NULL) <> (caregiver_id IS NULL))),
  constraint portal_links_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  constraint portal_links_caregiver_id_fkey FOREIGN KEY (caregiver_id) REFERENCES caregivers(id) ON DELETE CASCADE,
  constraint portal_links_notification_id_fkey FOREIGN KEY (notification_id) REFERENCES notifications(id) ON DELETE CASCADE,
  constraint portal_links_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint portal_links_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint portal_links_pkey PRIMARY KEY (notification_id),
  constraint portal_links_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX portal_links_caregiver ON public.portal_links USING btree (caregiver_id) WHERE (caregiver_id IS NOT NULL);
CREATE INDEX portal_links_participant ON public.portal_links USING btree (participant_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table portal_refresh_tokens (
  id uuid not null default gen_random_uuid(),
  family_id uuid not null,
  study_id uuid not null,
  participant_id uuid,
  caregiver_id uuid,
  token_hash bytea not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  rotated_at timestamp with time zone,
  revoked_at timestamp with time zone,
  ended_at timestamp with time zone,
  user_agent character varying(500),
  ip_address character varying(45),
  constraint portal_refresh_tokens_of_one CHECK (((participant_id IS NULL) <> (caregiver_id IS NULL))),
  constraint portal_refresh_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  constraint portal_refresh_tokens_caregiver_id_fkey FOREIGN KEY (caregiver_id) REFERENCES caregivers(id) ON DELETE CASCADE,
  constraint portal_refresh_tokens_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint portal_refresh_tokens_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint portal_refresh_tokens_pkey PRIMARY KEY (id),
  constraint portal_refresh_tokens_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX portal_refresh_tokens_caregiver ON public.portal_refresh_tokens USING btree (caregiver_id) WHERE (caregiver_id IS NOT NULL);
CREATE INDEX portal_refresh_tokens_family ON public.portal_refresh_tokens USING btree (family_id);
CREATE INDEX portal_refresh_tokens_participant ON public.portal_refresh_tokens USING btree (participant_id) WHERE (participant_id IS NOT NULL);
CREATE INDEX portal_refresh_tokens_study ON public.portal_refresh_tokens USING btree (study_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: INSERT, SELECT, UPDATE
create table provider_paces (
  channel character varying(10) not null,
  next_at timestamp with time zone not null default clock_timestamp(),
  constraint provider_paces_channel_check CHECK (((channel)::text = ANY ((ARRAY['email'::character varying, 'sms'::character varying, 'push'::character varying])::text[]))),
  constraint provider_paces_pkey PRIMARY KEY (channel)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT
create table push_attempts (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  session_id uuid not null,
  study_id uuid not null,
  visit_id uuid,
  number integer not null,
  status character varying(10) not null,
  error_type character varying(20),
  message text,
  records_imported integer,
  already_there boolean not null default false,
  started_at timestamp with time zone not null,
  at timestamp with time zone not null default clock_timestamp(),
  next_attempt_at timestamp with time zone,
  warnings jsonb not null default '[]'::jsonb,
  constraint push_attempts_check CHECK ((((status)::text = 'failed'::text) = (error_type IS NOT NULL))),
  constraint push_attempts_check1 CHECK ((((status)::text = 'failed'::text) OR (((status)::text = 'success'::text) = (records_imported IS NOT NULL)))),
  constraint push_attempts_status_check CHECK (((status)::text = ANY ((ARRAY['success'::character varying, 'failed'::character varying, 'skipped'::character varying])::text[]))),
  constraint push_attempts_session_id_fkey FOREIGN KEY (session_id) REFERENCES assessment_sessions(id) ON DELETE CASCADE,
  constraint push_attempts_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint push_attempts_pkey PRIMARY KEY (id),
  constraint push_attempts_session_id_number_key UNIQUE (session_id, number)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table push_targets (
  study_id uuid not null,
  record character varying(500) not null,
  event character varying(200) not null,
  lease_owner uuid,
  lease_until timestamp with time zone,
  constraint push_targets_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint push_targets_pkey PRIMARY KEY (study_id, record, event)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table push_tokens (
  id uuid not null default gen_random_uuid(),
  study_id uuid,
  participant_id uuid,
  user_id uuid,
  platform character varying(10) not null,
  token character varying(4096) not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  caregiver_id uuid,
  via_portal boolean not null default false,
  constraint push_tokens_check CHECK (((participant_id IS NULL) = (study_id IS NULL))),
  constraint push_tokens_check1 CHECK (((participant_id IS NULL) <> (user_id IS NULL))),
  constraint push_tokens_platform_check CHECK (((platform)::text = ANY ((ARRAY['ios'::character varying, 'android'::character varying, 'web'::character varying])::text[]))),
  constraint push_tokens_caregiver_id_participant_id_fkey FOREIGN KEY (caregiver_id, participant_id) REFERENCES caregiver_participants(caregiver_id, participant_id) ON DELETE CASCADE,
  constraint push_tokens_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint push_tokens_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint push_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint push_tokens_pkey PRIMARY KEY (id)
);
CREATE INDEX push_tokens_caregiver ON public.push_tokens USING btree (caregiver_id, participant_id) WHERE (caregiver_id IS NOT NULL);
CREATE UNIQUE INDEX push_tokens_of_participant ON public.push_tokens USING btree (participant_id, md5((token)::text)) WHERE (participant_id IS NOT NULL);
CREATE UNIQUE INDEX push_tokens_of_user ON public.push_tokens USING btree (user_id, md5((token)::text)) WHERE (user_id IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
-- policy user_devices permissive for * using ((study_id IS NULL)) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table randomizations (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  participant_id uuid not null,
  arm character varying(100) not null,
  randomized_at timestamp with time zone not null,
  stratum character varying(200),
  created_at timestamp with time zone not null default clock_timestamp(),
  imported boolean not null default false,
  imported_by uuid,
  original_users jsonb,
  constraint randomizations_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint randomizations_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint randomizations_pkey PRIMARY KEY (id),
  constraint randomizations_participant_id_key UNIQUE (participant_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create unlogged table rate_limits (
  key character varying(255) not null,
  points integer not null default 0,
  expire bigint,
  constraint rate_limits_pkey PRIMARY KEY (key)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table raw_trial_chunks (
  session_id uuid not null,
  task character varying(64) not null,
  chunk integer not null,
  study_id uuid not null,
  trials integer not null,
  trial_index integer[] not null,
  rt double precision[] not null,
  correct boolean[] not null,
  at timestamp with time zone[] not null,
  data jsonb,
  practice boolean[],
  constraint raw_trial_chunks_check CHECK (((cardinality(trial_index) = trials) AND (cardinality(rt) = trials) AND (cardinality(correct) = trials) AND (cardinality(at) = trials))),
  constraint raw_trial_chunks_session_id_fkey FOREIGN KEY (session_id) REFERENCES assessment_sessions(id) ON DELETE CASCADE,
  constraint raw_trial_chunks_pkey PRIMARY KEY (session_id, task, chunk)
) partition by HASH (session_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table refresh_tokens (
  id uuid not null default gen_random_uuid(),
  family_id uuid not null,
  user_id uuid not null,
  token_hash bytea not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  rotated_at timestamp with time zone,
  revoked_at timestamp with time zone,
  user_agent character varying(500),
  ip_address character varying(45),
  constraint refresh_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint refresh_tokens_pkey PRIMARY KEY (id),
  constraint refresh_tokens_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX refresh_tokens_family ON public.refresh_tokens USING btree (family_id);
CREATE INDEX refresh_tokens_user ON public.refresh_tokens USING btree (user_id);

-- no row-level security; research_app may: INSERT, SELECT, UPDATE
create table reminder_limits (
  only_one boolean not null default true,
  max_lateness interval not null,
  constraint reminder_limits_only_one_check CHECK (only_one),
  constraint reminder_limits_pkey PRIMARY KEY (only_one)
);

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table report_documents (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  requested_by_id uuid not null,
  request_id character varying(36) not null,
  question jsonb not null,
  status character varying(20) not null default 'pending'::character varying,
  progress real not null default 0,
  attempt integer not null default 0,
  taken_until timestamp with time zone,
  error character varying(60),
  disposition text,
  reach text,
  content bytea,
  created_at timestamp with time zone not null default clock_timestamp(),
  completed_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint report_documents_check CHECK ((((status)::text = 'completed'::text) = (content IS NOT NULL))),
  constraint report_documents_check1 CHECK ((((status)::text = 'failed'::text) = (error IS NOT NULL))),
  constraint report_documents_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  constraint report_documents_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'completed'::character varying, 'failed'::character varying, 'expired'::character varying])::text[]))),
  constraint report_documents_requested_by_id_fkey FOREIGN KEY (requested_by_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint report_documents_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint report_documents_pkey PRIMARY KEY (id)
);
CREATE INDEX report_documents_open ON public.report_documents USING btree (created_at) WHERE ((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying])::text[]));
CREATE INDEX report_documents_study ON public.report_documents USING btree (study_id);
CREATE INDEX report_documents_user ON public.report_documents USING btree (requested_by_id, created_at);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table result_pushes (
  session_id uuid not null,
  study_id uuid not null,
  participant_id uuid not null,
  status character varying(10) not null default 'pending'::character varying,
  requested integer not null default 1,
  done integer not null default 0,
  requested_at timestamp with time zone not null default clock_timestamp(),
  attempts integer not null default 0,
  failures integer not null default 0,
  waits integer not null default 0,
  unanswered boolean not null default false,
  attempt_id uuid,
  error_type character varying(20),
  message text,
  next_attempt_at timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp(),
  slot_at timestamp with time zone,
  warnings jsonb not null default '[]'::jsonb,
  forbidden boolean not null default false,
  constraint result_pushes_check CHECK ((done <= requested)),
  constraint result_pushes_check1 CHECK ((((status)::text = 'waiting'::text) = (next_attempt_at IS NOT NULL))),
  constraint result_pushes_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'waiting'::character varying, 'synced'::character varying, 'failed'::character varying, 'skipped'::character varying])::text[]))),
  constraint result_pushes_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint result_pushes_session_id_fkey FOREIGN KEY (session_id) REFERENCES assessment_sessions(id) ON DELETE CASCADE,
  constraint result_pushes_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint result_pushes_pkey PRIMARY KEY (session_id)
);
CREATE INDEX result_pushes_failed ON public.result_pushes USING btree (study_id, updated_at) WHERE ((status)::text = ANY ((ARRAY['waiting'::character varying, 'failed'::character varying])::text[]));
CREATE INDEX result_pushes_forbidden ON public.result_pushes USING btree (study_id) WHERE forbidden;
CREATE INDEX result_pushes_open ON public.result_pushes USING btree (COALESCE(next_attempt_at, requested_at)) WHERE ((status)::text = ANY ((ARRAY['pending'::character varying, 'waiting'::character varying])::text[]));
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.result_pushes FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table schedule_versions (
  id uuid not null default gen_random_uuid(),
  participant_id uuid not null,
  study_id uuid not null,
  version_number integer not null,
  is_current boolean not null default true,
  superseded_by_id uuid,
  anchor_date_used date not null,
  anchor_version integer not null,
  anchor_date_id uuid not null,
  scheduling_mode character varying(20) not null default 'legacy'::character varying,
  metadata_version_id uuid,
  holiday_calendar_id uuid,
  scheduling_settings jsonb not null default '{}'::jsonb,
  status character varying(20) not null default 'active'::character varying,
  visits_generated integer not null default 0,
  generation_warnings jsonb not null default '[]'::jsonb,
  generated_at timestamp with time zone not null default moment(),
  generated_by_id uuid,
  superseded_at timestamp with time zone,
  supersede_reason character varying(200),
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint schedule_versions_check CHECK (((NOT is_current) OR ((status)::text = 'active'::text))),
  constraint schedule_versions_check1 CHECK ((((status)::text = 'active'::text) = (superseded_at IS NULL))),
  constraint schedule_versions_scheduling_mode_check CHECK (((scheduling_mode)::text = ANY ((ARRAY['legacy'::character varying, 'edc'::character varying])::text[]))),
  constraint schedule_versions_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'superseded'::character varying, 'reconciled'::character varying])::text[]))),
  constraint schedule_versions_version_number_check CHECK ((version_number >= 1)),
  constraint schedule_versions_anchor_date_id_fkey FOREIGN KEY (anchor_date_id) REFERENCES anchor_dates(id) ON DELETE CASCADE,
  constraint schedule_versions_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint schedule_versions_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint schedule_versions_superseded_by_id_fkey FOREIGN KEY (superseded_by_id) REFERENCES schedule_versions(id),
  constraint schedule_versions_pkey PRIMARY KEY (id),
  constraint schedule_versions_participant_id_version_number_key UNIQUE (participant_id, version_number)
);
CREATE INDEX schedule_versions_study ON public.schedule_versions USING btree (study_id) WHERE is_current;
CREATE UNIQUE INDEX schedule_versions_one_current ON public.schedule_versions USING btree (participant_id) WHERE is_current;
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table scheduled_visits (
  id uuid not null default gen_random_uuid(),
  visit_key uuid not null,
  study_id uuid not null,
  participant_id uuid not null,
  visit_window_id uuid,
  schedule_version_id uuid,
  name character varying(300) not null,
  battery_id integer,
  target_date date not null,
  window_open date not null,
  window_close date not null,
  datacapture_event character varying(200),
  is_baseline boolean not null default false,
  status character varying(20) not null default 'scheduled'::character varying,
  status_reason character varying(200),
  completed_at timestamp with time zone,
  session_id uuid,
  data_sync_status character varying(20),
  synced_at timestamp with time zone,
  anchor_reconciled boolean not null default false,
  anchor_reconciled_at timestamp with time zone,
  needs_review boolean not null default false,
  reporting_target_date date,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  reviewed_at timestamp with time zone,
  reviewed_by_id uuid,
  review_resolution text,
  reviewed_target_date date,
  event_definition_id uuid,
  event_oid character varying(200),
  event_occurrence integer,
  cancelled_by_hand boolean not null default false,
  moved_from jsonb,
  changed_from jsonb,
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint scheduled_visits_cancelled_by_hand_check CHECK (((NOT cancelled_by_hand) OR ((status)::text = 'cancelled'::text))),
  constraint scheduled_visits_check CHECK (((window_open <= target_date) AND (target_date <= window_close))),
  constraint scheduled_visits_check1 CHECK ((((status)::text = 'completed'::text) = (completed_at IS NOT NULL))),
  constraint scheduled_visits_check2 CHECK ((anchor_reconciled = (anchor_reconciled_at IS NOT NULL))),
  constraint scheduled_visits_check3 CHECK (
CASE
    WHEN imported THEN ((reviewed_at IS NOT NULL) OR (reviewed_by_id IS NULL))
    ELSE ((reviewed_at IS NULL) = (reviewed_by_id IS NULL))
END) NOT VALID,
  constraint scheduled_visits_check4 CHECK (((event_oid IS NULL) = (event_occurrence IS NULL))),
  constraint scheduled_visits_check5 CHECK (((event_definition_id IS NULL) OR ((event_occurrence IS NOT NULL) AND (visit_window_id IS NULL)))),
  constraint scheduled_visits_data_sync_status_check CHECK (((data_sync_status)::text = ANY ((ARRAY['pending'::character varying, 'synced'::character varying, 'failed'::character varying])::text[]))),
  constraint scheduled_visits_event_occurrence_check CHECK ((event_occurrence >= 1)),
  constraint scheduled_visits_status_check CHECK (((status)::text = ANY ((ARRAY['scheduled'::character varying, 'open'::character varying, 'completed'::character varying, 'missed'::character varying, 'superseded'::character varying, 'cancelled'::character varying])::text[]))),
  constraint scheduled_visits_event_definition_id_fkey FOREIGN KEY (event_definition_id) REFERENCES event_definitions(id) ON DELETE SET NULL,
  constraint scheduled_visits_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE CASCADE,
  constraint scheduled_visits_schedule_version_id_fkey FOREIGN KEY (schedule_version_id) REFERENCES schedule_versions(id) ON DELETE CASCADE,
  constraint scheduled_visits_visit_window_id_fkey FOREIGN KEY (visit_window_id) REFERENCES visit_windows(id) ON DELETE SET NULL,
  constraint scheduled_visits_pkey PRIMARY KEY (id)
);
CREATE INDEX scheduled_visits_event ON public.scheduled_visits USING btree (event_definition_id) WHERE (event_definition_id IS NOT NULL);
CREATE INDEX scheduled_visits_missed ON public.scheduled_visits USING btree (window_close) WHERE ((status)::text = 'missed'::text);
CREATE INDEX scheduled_visits_of_study ON public.scheduled_visits USING btree (study_id, target_date, id);
CREATE INDEX scheduled_visits_participant ON public.scheduled_visits USING btree (participant_id, target_date);
CREATE INDEX scheduled_visits_to_miss ON public.scheduled_visits USING btree (window_close) WHERE ((status)::text = 'open'::text);
CREATE INDEX scheduled_visits_to_open ON public.scheduled_visits USING btree (window_open) WHERE ((status)::text = 'scheduled'::text);
CREATE INDEX scheduled_visits_to_review ON public.scheduled_visits USING btree (study_id) WHERE needs_review;
CREATE UNIQUE INDEX scheduled_visits_once_per_version ON public.scheduled_visits USING btree (schedule_version_id, visit_key);
CREATE UNIQUE INDEX scheduled_visits_one_live ON public.scheduled_visits USING btree (participant_id, visit_key) WHERE ((status)::text <> ALL ((ARRAY['superseded'::character varying, 'cancelled'::character varying])::text[]));
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER record_changed AFTER UPDATE ON public.scheduled_visits REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION record_changed_visits();
CREATE TRIGGER record_new AFTER INSERT ON public.scheduled_visits REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION record_new_visits();
CREATE TRIGGER reminders_changed AFTER UPDATE ON public.scheduled_visits REFERENCING OLD TABLE AS before_change NEW TABLE AS after_change FOR EACH STATEMENT EXECUTE FUNCTION visits_changed();
CREATE TRIGGER reminders_made AFTER INSERT ON public.scheduled_visits REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION visits_made();
CREATE TRIGGER touch BEFORE UPDATE ON public.scheduled_visits FOR EACH ROW WHEN ((new.updated_at = old.updated_at)) EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table session_tasks (
  session_id uuid not null,
  task character varying(64) not null,
  study_id uuid not null,
  local_id character varying(200),
  summary jsonb not null,
  computed_summary jsonb not null,
  summary_difference jsonb not null default '{}'::jsonb,
  quality_flags jsonb not null default '[]'::jsonb,
  warnings jsonb not null default '[]'::jsonb,
  trial_count integer not null,
  content_hash character(64) not null,
  submitted_at timestamp with time zone not null default clock_timestamp(),
  module_id uuid,
  constraint session_tasks_session_id_fkey FOREIGN KEY (session_id) REFERENCES assessment_sessions(id) ON DELETE CASCADE,
  constraint session_tasks_pkey PRIMARY KEY (session_id, task)
);
CREATE INDEX session_tasks_study ON public.session_tasks USING btree (study_id, task);
CREATE UNIQUE INDEX session_tasks_local ON public.session_tasks USING btree (session_id, local_id) WHERE (local_id IS NOT NULL);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table simulations (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  status character varying(20) not null default 'pending'::character varying,
  participants integer not null,
  months integer not null,
  seed bigint not null,
  inputs json not null,
  progress real not null default 0,
  result json,
  result_sha256 character(64),
  error character varying(500),
  requested_by_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  constraint simulations_check CHECK ((((status)::text = 'completed'::text) = (result IS NOT NULL))),
  constraint simulations_check1 CHECK ((((status)::text = ANY ((ARRAY['completed'::character varying, 'failed'::character varying])::text[])) = (completed_at IS NOT NULL))),
  constraint simulations_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  constraint simulations_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'completed'::character varying, 'failed'::character varying])::text[]))),
  constraint simulations_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint simulations_pkey PRIMARY KEY (id)
);
CREATE INDEX simulations_study ON public.simulations USING btree (study_id, created_at);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.simulations FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table sites (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  site_code character varying(64) not null,
  name character varying(300),
  timezone character varying(50),
  status character varying(20) not null default 'active'::character varying,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint sites_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'inactive'::character varying])::text[]))),
  constraint sites_timezone_known CHECK (((timezone IS NULL) OR is_time_zone((timezone)::text))),
  constraint sites_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint sites_pkey PRIMARY KEY (id),
  constraint sites_study_id_site_code_key UNIQUE (study_id, site_code)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER reminders AFTER UPDATE OF timezone ON public.sites FOR EACH ROW WHEN (((old.timezone)::text IS DISTINCT FROM (new.timezone)::text)) EXECUTE FUNCTION site_reminders();
CREATE TRIGGER touch BEFORE UPDATE ON public.sites FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table studies (
  id uuid not null default gen_random_uuid(),
  study_code character varying(64) not null,
  study_name character varying(300) not null,
  description text,
  status character varying(20) not null default 'active'::character varying,
  start_date date,
  end_date date,
  timezone character varying(50) not null default 'UTC'::character varying,
  integration_mode character varying(20) not null default 'standalone'::character varying,
  datacapture_enabled boolean not null default false,
  consent_mode character varying(20) not null default 'econsent'::character varying,
  config jsonb not null default '{}'::jsonb,
  policy_version integer not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint studies_check CHECK (((end_date IS NULL) OR (start_date IS NULL) OR (end_date >= start_date))),
  constraint studies_consent_mode_check CHECK (((consent_mode)::text = ANY ((ARRAY['none'::character varying, 'external'::character varying, 'econsent'::character varying])::text[]))),
  constraint studies_integration_mode_check CHECK (((integration_mode)::text = ANY ((ARRAY['standalone'::character varying, 'datacapture'::character varying])::text[]))),
  constraint studies_status_check CHECK (((status)::text = ANY ((ARRAY['draft'::character varying, 'active'::character varying, 'paused'::character varying, 'completed'::character varying, 'archived'::character varying])::text[]))),
  constraint studies_timezone_known CHECK (((timezone IS NULL) OR is_time_zone((timezone)::text))),
  constraint studies_pkey PRIMARY KEY (id),
  constraint studies_study_code_key UNIQUE (study_code)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (id = ( SELECT app_study() AS app_study)) OR (id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER reminders AFTER UPDATE OF config, timezone ON public.studies FOR EACH ROW WHEN ((((old.config -> 'notifications'::text) IS DISTINCT FROM (new.config -> 'notifications'::text)) OR ((old.timezone)::text <> (new.timezone)::text))) EXECUTE FUNCTION study_reminders();
CREATE TRIGGER touch BEFORE UPDATE ON public.studies FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table study_pseudonym_keys (
  study_id uuid not null,
  key bytea not null,
  constraint study_pseudonym_keys_key_check CHECK ((octet_length(key) = 32)),
  constraint study_pseudonym_keys_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint study_pseudonym_keys_pkey PRIMARY KEY (study_id)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table study_templates (
  id character varying(100) not null,
  study_id uuid not null,
  name character varying(300) not null,
  category character varying(100) not null,
  description text not null default ''::text,
  content json not null,
  created_by_id uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint study_templates_id_check CHECK (((id)::text ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text)),
  constraint study_templates_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint study_templates_pkey PRIMARY KEY (id)
);
CREATE INDEX study_templates_study ON public.study_templates USING btree (study_id);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table sync_conflicts (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  study_id uuid not null,
  participant_id uuid not null,
  kind character varying(10) not null,
  conflict_type character varying(40) not null,
  resolution character varying(20) not null,
  local_id character varying(200) not null,
  session_id uuid,
  task character varying(64),
  message text not null,
  local_content jsonb not null,
  server_content jsonb,
  content_hash character(64) not null,
  status character varying(10) not null default 'open'::character varying,
  keep character varying(10),
  reason text,
  resolved_by_id uuid,
  resolved_at timestamp with time zone,
  detected_at timestamp with time zone not null default clock_timestamp(),
  imported_by uuid,
  original_users jsonb,
  imported boolean not null default false,
  constraint sync_conflicts_check CHECK ((((status)::text = 'resolved'::text) = (resolved_at IS NOT NULL))),
  constraint sync_conflicts_check1 CHECK ((((status)::text = 'resolved'::text) = ((keep IS NOT NULL) AND (reason IS NOT NULL) AND ((resolved_by_id IS NOT NULL) OR (imported AND (resolved_at IS NOT NULL)))))) NOT VALID,
  constraint sync_conflicts_conflict_type_check CHECK (((conflict_type)::text = ANY ((ARRAY['duplicate_session'::character varying, 'duplicate_response'::character varying, 'visit_already_completed'::character varying, 'participant_withdrawn'::character varying, 'battery_version_mismatch'::character varying])::text[]))),
  constraint sync_conflicts_keep_check CHECK (((keep)::text = ANY ((ARRAY['server'::character varying, 'local'::character varying, 'both'::character varying])::text[]))),
  constraint sync_conflicts_kind_check CHECK (((kind)::text = ANY ((ARRAY['session'::character varying, 'response'::character varying])::text[]))),
  constraint sync_conflicts_resolution_check CHECK (((resolution)::text = ANY ((ARRAY['server_wins'::character varying, 'both_kept'::character varying])::text[]))),
  constraint sync_conflicts_status_check CHECK (((status)::text = ANY ((ARRAY['open'::character varying, 'resolved'::character varying])::text[]))),
  constraint sync_conflicts_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id),
  constraint sync_conflicts_session_id_fkey FOREIGN KEY (session_id) REFERENCES assessment_sessions(id),
  constraint sync_conflicts_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint sync_conflicts_pkey PRIMARY KEY (id)
);
CREATE INDEX sync_conflicts_listing ON public.sync_conflicts USING btree (study_id, seq DESC);
CREATE INDEX sync_conflicts_open ON public.sync_conflicts USING btree (study_id, detected_at) WHERE ((status)::text = 'open'::text);
CREATE INDEX sync_conflicts_participant ON public.sync_conflicts USING btree (participant_id);
CREATE UNIQUE INDEX sync_conflicts_once ON public.sync_conflicts USING btree (study_id, kind, conflict_type, local_id, content_hash);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table unmatched_triggers (
  project_id character varying(100) not null,
  count bigint not null default 1,
  first_at timestamp with time zone not null default clock_timestamp(),
  last_at timestamp with time zone not null default clock_timestamp(),
  constraint unmatched_triggers_pkey PRIMARY KEY (project_id)
);
CREATE INDEX unmatched_triggers_last ON public.unmatched_triggers USING btree (last_at);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table user_links (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  purpose character varying(20) not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  token_hash bytea,
  expires_at timestamp with time zone,
  sent_at timestamp with time zone,
  used_at timestamp with time zone,
  constraint user_links_check CHECK (((token_hash IS NULL) = (expires_at IS NULL))),
  constraint user_links_purpose_check CHECK (((purpose)::text = ANY ((ARRAY['password_reset'::character varying, 'invitation'::character varying])::text[]))),
  constraint user_links_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  constraint user_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint user_links_pkey PRIMARY KEY (id),
  constraint user_links_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX user_links_user ON public.user_links USING btree (user_id, created_at);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table user_mfa (
  user_id uuid not null,
  secret_sealed text not null,
  last_step bigint not null default 0,
  created_at timestamp with time zone not null default clock_timestamp(),
  verified_at timestamp with time zone,
  constraint user_mfa_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint user_mfa_pkey PRIMARY KEY (user_id)
);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table user_sites (
  user_id uuid not null,
  site_id uuid not null,
  constraint user_sites_site_id_fkey FOREIGN KEY (site_id) REFERENCES sites(id) ON DELETE CASCADE,
  constraint user_sites_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint user_sites_pkey PRIMARY KEY (user_id, site_id)
);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table user_studies (
  user_id uuid not null,
  study_id uuid not null,
  constraint user_studies_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint user_studies_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint user_studies_pkey PRIMARY KEY (user_id, study_id)
);

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table users (
  id uuid not null default gen_random_uuid(),
  email character varying(320) not null,
  name character varying(200) not null,
  role character varying(20) not null,
  status character varying(20) not null default 'active'::character varying,
  password_hash text not null,
  failed_logins integer not null default 0,
  locked_until timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  session_epoch integer not null default 0,
  constraint users_role_check CHECK (((role)::text = ANY ((ARRAY['admin'::character varying, 'researcher'::character varying, 'coordinator'::character varying, 'investigator'::character varying, 'data_manager'::character varying])::text[]))),
  constraint users_status_check CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'inactive'::character varying])::text[]))),
  constraint users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower((email)::text));
CREATE TRIGGER touch BEFORE UPDATE ON public.users FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: SELECT
create table visit_states (
  participant_id uuid not null,
  seq bigint not null generated always as identity,
  visit_id uuid not null,
  study_id uuid not null,
  name character varying(300) not null,
  battery_id integer,
  datacapture_event character varying(200),
  status character varying(20) not null,
  status_reason character varying(200),
  target_date date not null,
  window_open date not null,
  window_close date not null,
  completed_at timestamp with time zone,
  session_id uuid,
  anchor_reconciled_at timestamp with time zone,
  needs_review boolean not null,
  reporting_target_date date,
  changed_at timestamp with time zone not null,
  constraint visit_states_pkey PRIMARY KEY (participant_id, seq)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.visit_states FOR EACH ROW WHEN ((COALESCE(current_setting('app.erasing'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only_truncate BEFORE TRUNCATE ON public.visit_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table visit_windows (
  id uuid not null default gen_random_uuid(),
  study_id uuid not null,
  code character varying(64) not null,
  name character varying(300) not null,
  battery_id integer,
  target_day integer not null,
  window_before integer not null default 0,
  window_after integer not null default 7,
  is_baseline boolean not null default false,
  datacapture_event character varying(200),
  sort_order integer not null default 0,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint visit_windows_window_after_check CHECK ((window_after >= 0)),
  constraint visit_windows_window_before_check CHECK ((window_before >= 0)),
  constraint visit_windows_battery_id_fkey FOREIGN KEY (battery_id) REFERENCES batteries(id),
  constraint visit_windows_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint visit_windows_pkey PRIMARY KEY (id),
  constraint visit_windows_study_id_code_key UNIQUE (study_id, code)
);
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)
CREATE TRIGGER touch BEFORE UPDATE ON public.visit_windows FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- row-level security, forced; research_app may: DELETE, INSERT, SELECT, UPDATE
create table webhook_events (
  id uuid not null default gen_random_uuid(),
  seq bigint not null generated always as identity,
  study_id uuid not null,
  project_id character varying(100) not null,
  record character varying(500) not null,
  instrument character varying(200) not null,
  event_name character varying(200),
  data_access_group character varying(200),
  repeat_instance character varying(20),
  raw_body_hash bytea not null,
  status character varying(20) not null default 'received'::character varying,
  outcome character varying(40),
  error text,
  duplicate_of_id uuid,
  participant_id uuid,
  attempt integer not null default 0,
  received_at timestamp with time zone not null default clock_timestamp(),
  processed_at timestamp with time zone,
  warnings jsonb not null default '[]'::jsonb,
  constraint webhook_events_check CHECK ((((status)::text = 'duplicate'::text) = (duplicate_of_id IS NOT NULL))),
  constraint webhook_events_status_check CHECK (((status)::text = ANY ((ARRAY['received'::character varying, 'processing'::character varying, 'processed'::character varying, 'duplicate'::character varying, 'failed'::character varying])::text[]))),
  constraint webhook_events_duplicate_of_id_fkey FOREIGN KEY (duplicate_of_id) REFERENCES webhook_events(id),
  constraint webhook_events_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES participants(id) ON DELETE SET NULL,
  constraint webhook_events_study_id_fkey FOREIGN KEY (study_id) REFERENCES studies(id) ON DELETE CASCADE,
  constraint webhook_events_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_events_body ON public.webhook_events USING btree (study_id, raw_body_hash, received_at);
CREATE INDEX webhook_events_failed ON public.webhook_events USING btree (study_id, received_at) WHERE ((status)::text = 'failed'::text);
CREATE INDEX webhook_events_held ON public.webhook_events USING btree (participant_id) WHERE ((outcome)::text = 'override_required'::text);
CREATE INDEX webhook_events_listing ON public.webhook_events USING btree (study_id, seq DESC);
CREATE INDEX webhook_events_waiting ON public.webhook_events USING btree (study_id, record) WHERE ((status)::text = ANY ((ARRAY['received'::character varying, 'processing'::character varying])::text[]));
-- policy study_isolation permissive for * using ((( SELECT app_sees_all() AS app_sees_all) OR (study_id = ( SELECT app_study() AS app_study)) OR (study_id = ANY (( SELECT app_studies() AS app_studies)::uuid[])))) check (-)

-- no row-level security; research_app may: DELETE, INSERT, SELECT, UPDATE
create table worker_signs (
  worker_id uuid not null,
  task_queue text not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  reads_details boolean not null default false,
  host character varying(255),
  pid integer,
  started_at timestamp with time zone not null default clock_timestamp(),
  constraint worker_signs_pkey PRIMARY KEY (worker_id)
);

CREATE OR REPLACE FUNCTION public.address_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from dead_addresses where participant_id = new.id
    and (channel = 'email' and old.email is distinct from new.email or channel = 'sms' and old.phone is distinct from new.phone);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.address_events()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into event_deliveries (study_id, subscription_id, event_id)
  select n.study_id, s.id, n.id from written n join event_subscriptions s on s.study_id = n.study_id and s.status = 'active' and n.type = any (s.events)
  order by n.seq;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.app_all_sites()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select coalesce(current_setting('app.site_studies', true), '') = '' $function$;

CREATE OR REPLACE FUNCTION public.app_sees_all()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select coalesce(current_setting('app.studies', true), '') = '*' $function$;

CREATE OR REPLACE FUNCTION public.app_site_studies()
 RETURNS uuid[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select case when coalesce(current_setting('app.site_studies', true), '') = '' then '{}'::uuid[]
            else string_to_array(current_setting('app.site_studies', true), ',')::uuid[] end $function$;

CREATE OR REPLACE FUNCTION public.app_sites()
 RETURNS uuid[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select case when coalesce(current_setting('app.sites', true), '') = '' then '{}'::uuid[]
            else string_to_array(current_setting('app.sites', true), ',')::uuid[] end $function$;

CREATE OR REPLACE FUNCTION public.app_studies()
 RETURNS uuid[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select case when coalesce(current_setting('app.studies', true), '') in ('', '*') then '{}'::uuid[]
            else string_to_array(current_setting('app.studies', true), ',')::uuid[] end $function$;

CREATE OR REPLACE FUNCTION public.app_study()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select case when coalesce(current_setting('app.studies', true), '') in ('', '*') or strpos(current_setting('app.studies', true), ',') > 0 then null
            else current_setting('app.studies', true)::uuid end $function$;

CREATE OR REPLACE FUNCTION public.audit_append(p_study uuid, entries jsonb)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select audit_append(p_study, entries, null)
$function$;

CREATE OR REPLACE FUNCTION public.audit_append(p_study uuid, entries jsonb, metadata text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  v_chain audit_log.chain%type := coalesce(p_study::text, 'service');
  -- A copy in which each element is found at once: an argument is walked from its beginning.
  v_texts text[] := metadata;
  v_head text; v_seq bigint; v_hash text; v_at timestamptz; e jsonb; m text;
  v_user audit_log.user_id%type; v_action audit_log.action%type; v_type audit_log.resource_type%type;
  v_resource audit_log.resource_id%type; v_request audit_log.request_id%type;
begin
  if cardinality(metadata) <> jsonb_array_length(entries) then
    raise exception 'audit_append: % entries and metadata of %', jsonb_array_length(entries), cardinality(metadata);
  end if;
  select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  if not found then
    insert into audit_chains (chain, study_id, seq, head) values (v_chain, p_study, 0, repeat('0', 64)) on conflict do nothing;
    select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  end if;
  for i in 1..jsonb_array_length(entries) loop
    e := entries->(i - 1);
    m := coalesce(v_texts[i], e->>'metadata');
    v_seq := v_seq + 1;
    v_at := clock_timestamp();
    v_user := e->>'user_id'; v_action := e->>'action'; v_request := e->>'request_id';
    v_type := e->>'resource_type'; v_resource := e->>'resource_id';
    -- The canonical form, with the hash before it. Long metadata is copied twice.
    v_hash := encode(sha256(convert_to(
      concat(v_head, '{"action":', to_json(v_action), ',"audit_metadata":') || m || concat(',"chain":', to_json(v_chain),
        ',"created_at":"', to_char(v_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        '","hash_version":1,"request_id":', coalesce(to_json(v_request), 'null'),
        ',"resource_id":', coalesce(to_json(v_resource), 'null'), ',"resource_type":', to_json(v_type), ',"seq":', v_seq,
        ',"study_id":', coalesce(to_json(p_study), 'null'), ',"user_id":', coalesce(to_json(v_user), 'null'), '}'),
      'UTF8')), 'hex');
    insert into audit_log (seq, chain, study_id, user_id, action, resource_type, resource_id, audit_metadata, request_id, created_at, prev_hash, hash, hash_version)
      values (v_seq, v_chain, p_study, v_user, v_action, v_type, v_resource, m::jsonb, v_request, v_at, v_head, v_hash, 1);
    v_head := v_hash;
  end loop;
  update audit_chains set seq = v_seq, head = v_head where chain = v_chain;
  return v_seq;
end $function$;

CREATE OR REPLACE FUNCTION public.battery_for_participant(p_participant uuid, p_battery integer, p_version integer, OUT caller jsonb, OUT source jsonb)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  select to_jsonb(a) into caller from request_participant(p_participant) a;
  select jsonb_build_object('id', b.id, 'study_id', b.study_id, 'version', w.version, 'published', v.version is not null) into source
  from batteries b cross join lateral (select coalesce(p_version, b.published_version, b.version) as version) w
  left join battery_versions v on v.battery_id = b.id and v.version = w.version
  where b.id = p_battery and (v.version is not null or w.version = b.version);
end $function$;

CREATE OR REPLACE FUNCTION public.battery_for_participant(p_participant uuid, p_login uuid, p_battery integer, p_version integer, OUT caller jsonb, OUT source jsonb)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  select b.caller, b.source into caller, source from battery_for_participant(p_participant, p_battery, p_version) b;
  if portal_login_ended(p_login) then caller := caller || '{"login_ended": true}'; end if;
end $function$;

CREATE OR REPLACE FUNCTION public.battery_for_user(p_user uuid, p_study uuid, p_site uuid, p_battery integer, p_version integer, OUT caller jsonb, OUT source jsonb)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  perform set_config('app.studies', '', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select to_jsonb(a) into caller from request_actor(p_user, p_study, p_site, null) a;
  select jsonb_build_object('id', b.id, 'study_id', b.study_id, 'version', w.version, 'published', v.version is not null) into source
  from batteries b cross join lateral (select coalesce(p_version, b.published_version, b.version) as version) w
  left join battery_versions v on v.battery_id = b.id and v.version = w.version
  where b.id = p_battery and (v.version is not null or w.version = b.version);
end $function$;

CREATE OR REPLACE FUNCTION public.battery_for_user(p_user uuid, p_study uuid, p_site uuid, p_login uuid, p_battery integer, p_version integer, OUT caller jsonb, OUT source jsonb)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  perform set_config('app.studies', '', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select to_jsonb(a) into caller from request_caller(p_user, p_study, p_site, null, p_login) a;
  select jsonb_build_object('id', b.id, 'study_id', b.study_id, 'version', w.version, 'published', v.version is not null) into source
  from batteries b cross join lateral (select coalesce(p_version, b.published_version, b.version) as version) w
  left join battery_versions v on v.battery_id = b.id and v.version = w.version
  where b.id = p_battery and (v.version is not null or w.version = b.version);
end $function$;

CREATE OR REPLACE FUNCTION public.clock_time(p text)
 RETURNS time without time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$' then p::time end
$function$;

CREATE OR REPLACE FUNCTION public.csv_text(t text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when t !~ '^[ "''\u00A0\u200B\u3000\uFEFF]*[=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20]' and t !~ '[;\t\r\n]' then t
    when t ~ '^-[0-9]+([.][0-9]+){0,1}([eE][-+]{0,1}[0-9]+){0,1}$' then t
    else case when t ~ '^([;\t\r\n]|[ "''\u00A0\u200B\u3000\uFEFF]*[=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20])' then '''' else '' end
      || regexp_replace(t, '([;\t\r\n])([ "''\u00A0\u200B\u3000\uFEFF]*[=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20])', '\1''\2', 'g') end $function$;

CREATE OR REPLACE FUNCTION public.device_name(agent text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select regexp_replace(coalesce(agent, ''), '[0-9][0-9._]*', '', 'g') $function$;

CREATE OR REPLACE FUNCTION public.end_care(p_id uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare v_ended uuid[]; v_nobody uuid[]; v_sites text := current_setting('app.site_studies', true); c uuid;
begin
  perform set_config('app.site_studies', '', true);
  with gone as (delete from caregiver_participants where participant_id = p_id returning caregiver_id) select array_agg(caregiver_id) into v_ended from gone;
  v_nobody := array(select x.id from caregivers x where x.id = any (v_ended) and not exists (select from caregiver_participants k where k.caregiver_id = x.id));
  delete from portal_links where caregiver_id = any (v_nobody);
  update notifications set status = 'cancelled', reason = 'erased' where caregiver_id = any (v_nobody) and status = 'pending';
  update caregivers set name = null, email = null, phone = null, status = 'inactive' where id = any (v_nobody);
  foreach c in array v_nobody loop delete from idempotency_keys where body like '%' || c || '%'; end loop;
  perform set_config('app.site_studies', coalesce(v_sites, ''), true);
  return coalesce(cardinality(v_ended), 0);
end $function$;

CREATE OR REPLACE FUNCTION public.end_caregiver_tokens()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.session_epoch := old.session_epoch + 1;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.end_portal_logins()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare v_moved timestamptz := case when old.email is not null and new.email is distinct from old.email
  or old.phone is not null and new.phone is distinct from old.phone then clock_timestamp() end;
begin
  if tg_table_name = 'participants' then
    if v_moved is not null then
      delete from calendar_feeds where participant_id = new.id and caregiver_id is null
        and exists (select from portal_refresh_tokens t where t.participant_id = new.id);
      delete from push_tokens where participant_id = new.id and caregiver_id is null and via_portal;
    end if;
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where participant_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where participant_id = new.id and used_at is null;
  else
    if v_moved is not null then
      delete from calendar_feeds where caregiver_id = new.id;
      delete from push_tokens where caregiver_id = new.id;
    end if;
    update portal_refresh_tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), ended_at = coalesce(ended_at, v_moved)
      where caregiver_id = new.id and (revoked_at is null or ended_at is null and v_moved is not null);
    update portal_links set expires_at = least(expires_at, clock_timestamp()) where caregiver_id = new.id and used_at is null;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.erase_inputs(p_id uuid, p_items text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform set_config('app.erasing', 'on', true);
  update anchor_dates set source_ref = inputs_without_identity(source_ref, p_items)
    where participant_id = p_id and source_ref <> inputs_without_identity(source_ref, p_items);
  update anchor_date_history set source_ref = inputs_without_identity(source_ref, p_items)
    where participant_id = p_id and source_ref <> inputs_without_identity(source_ref, p_items);
  update anchor_decisions set facts = inputs_without_identity(facts, p_items), decision = inputs_without_identity(decision, p_items),
      trace = inputs_without_identity(trace, p_items)
    where participant_id = p_id and position('"inputs"' in concat(facts, decision, trace)) > 0;
  update anchor_commands set outcome = inputs_without_identity(outcome, p_items)
    where participant_id = p_id and outcome <> inputs_without_identity(outcome, p_items);
  update domain_events set data = inputs_without_identity(data, p_items)
    where study_id = (select study_id from participants where id = p_id) and participant_id = p_id and data <> inputs_without_identity(data, p_items);
  perform set_config('app.erasing', '', true);
end $function$;

CREATE OR REPLACE FUNCTION public.erase_participant(p_id uuid, p_by uuid, p_reason text, p_code text, p_items text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare v jsonb := '{}'; n integer;
begin
  perform set_config('app.erasing', 'on', true);
  update form_instances set items = without_identity(items, p_items)
    where participant_id = p_id and items <> without_identity(items, p_items);
  get diagnostics n = row_count; v := v || jsonb_build_object('forms', n);
  update anchor_decisions d set facts = facts_without_identity(d.facts, p_items)
    where d.participant_id = p_id and d.facts <> facts_without_identity(d.facts, p_items);
  get diagnostics n = row_count; v := v || jsonb_build_object('decisions', n);
  update anchor_commands c set outcome = jsonb_set(c.outcome, '{facts}', facts_without_identity(c.outcome->'facts', p_items))
    where c.participant_id = p_id and c.outcome->'facts' <> facts_without_identity(c.outcome->'facts', p_items);
  update anchor_date_history set ip_address = null, user_agent = null where participant_id = p_id and actor_type = 'participant' and (ip_address is not null or user_agent is not null);
  perform set_config('app.erasing', '', true);
  update assessment_sessions set device_id = null where participant_id = p_id and device_id is not null;
  get diagnostics n = row_count; v := v || jsonb_build_object('devices', n);
  delete from portal_links where participant_id = p_id;
  update notifications set status = 'cancelled', reason = 'erased' where participant_id = p_id and user_id is null and status = 'pending';
  get diagnostics n = row_count; v := v || jsonb_build_object('notifications', n);
  -- Answers kept for a repeated request quote the participant as it was.
  delete from idempotency_keys where body like '%' || p_id || '%';
  update participants set email = null, phone = null, date_of_birth = null, participant_code = coalesce(p_code, participant_code),
      withdrawal_reason = null, erased_at = clock_timestamp(), erased_by_id = p_by, erasure_reason = p_reason where id = p_id;
  return v;
end $function$;

CREATE OR REPLACE FUNCTION public.erase_portal_logins()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from portal_refresh_tokens where participant_id = new.id;
  delete from calendar_feeds where participant_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.erase_reasons(p_id uuid, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform set_config('app.erasing', 'on', true);
  update anchor_date_history set reason = '[erased]'
    where participant_id = p_id and reason is not null and (actor_type <> 'workflow' or event_type like 'OVERRIDE%');
  update anchor_dates set override_reason = '[erased]' where participant_id = p_id and override_reason is not null;
  update manual_anchor_entries set reason = '[erased]' where participant_id = p_id and reason is not null;
  update override_requests set reason = case when reason is not null then '[erased]' end,
      decision_reason = case when decision_reason is not null then '[erased]' end
    where participant_id = p_id and (reason is not null or decision_reason is not null);
  update eligibility_assessments set waiver_reason = case when waiver_reason is not null then '[erased]' end,
      inclusion_criteria = without_notes(inclusion_criteria), exclusion_criteria = without_notes(exclusion_criteria)
    where participant_id = p_id;
  update sync_conflicts set reason = '[erased]' where participant_id = p_id and reason is not null;
  -- A reason that is also one of a schedule version is the service's own.
  update scheduled_visits set status_reason = '[erased]'
    where participant_id = p_id and status_reason <> 'cancelled by hand'
      and not exists (select from schedule_versions s where s.participant_id = p_id and s.supersede_reason = status_reason);
  update visit_states set status_reason = '[erased]'
    where participant_id = p_id and status_reason <> 'cancelled by hand'
      and not exists (select from schedule_versions s where s.participant_id = p_id and s.supersede_reason = status_reason);
  -- denial_reason, withdrawal_reason and others like them too.
  update domain_events set data = data || said.erased
    from (select e.seq, jsonb_object_agg(key, '[erased]'::text) as erased
      from domain_events e, jsonb_each_text(e.data)
      where e.study_id = (select study_id from participants where id = p_id) and e.participant_id = p_id and e.data->'actor'->>'type' is distinct from 'workflow'
        and key ~ '(^|_)reason$' and value <> p_reason group by e.seq) said
    where domain_events.seq = said.seq and study_id = (select study_id from participants where id = p_id);
  perform set_config('app.erasing', '', true);
end $function$;

CREATE OR REPLACE FUNCTION public.erase_visit_texts(p_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform set_config('app.erasing', 'on', true);
  with plan as (
    select v.id, case when v.schedule_version_id is not null then coalesce(v.changed_from->>'name', v.name)
      else coalesce(w.name, e.name, '[erased]') end as name
    from scheduled_visits v left join visit_windows w on w.id = v.visit_window_id
      left join event_definitions e on e.id = v.event_definition_id where v.participant_id = p_id
  ), shown as (
    update visit_states s set name = plan.name from plan
      where s.participant_id = p_id and s.visit_id = plan.id and s.name <> plan.name
  )
  update scheduled_visits v set name = plan.name, changed_from = nullif(v.changed_from - 'name', '{}') from plan
    where v.id = plan.id and v.name <> plan.name;
  update scheduled_visits set review_resolution = '[erased]' where participant_id = p_id and review_resolution is not null;
  perform set_config('app.erasing', '', true);
end $function$;

CREATE OR REPLACE FUNCTION public.export_instant(t timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select case when date_trunc('milliseconds', t) = t then to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') else rtrim(to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0') || 'Z' end $function$;

CREATE OR REPLACE FUNCTION public.facts_without_identity(facts jsonb, named text[])
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when jsonb_typeof(facts->'forms') = 'array' then jsonb_set(facts, '{forms}', (
      select coalesce(jsonb_agg(f || jsonb_build_object('items', (select coalesce(jsonb_object_agg(key, case when is_identity(key, named) then '"[erased]"' else identity_free(value, named) end), '{}') from jsonb_each(coalesce(f->'items', '{}')))) order by at), '[]')
      from jsonb_array_elements(facts->'forms') with ordinality as e (f, at)))
    else facts end
$function$;

CREATE OR REPLACE FUNCTION public.folded(t text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
      select lower(case when octet_length(t) = char_length(t) then t else normalize(t) end collate pg_c_utf8) $function$;

CREATE OR REPLACE FUNCTION public.identity_free(value jsonb, named text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return case
    when jsonb_typeof(value) = 'object' then
      coalesce((select jsonb_object_agg(e.key, identity_free(e.value, named)) from jsonb_each(value) e where not is_identity(e.key, named)), '{}')
    -- Most lists are of numbers.
    when jsonb_typeof(value) = 'array' and position('{' in value::text) > 0 then
      (select jsonb_agg(identity_free(e.value, named) order by e.at) from jsonb_array_elements(value) with ordinality e (value, at))
    else value end;
end $function$;

CREATE OR REPLACE FUNCTION public.inputs_without_identity(doc jsonb, named text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  if doc is null or position('"inputs"' in doc::text) = 0 then return doc; end if;
  return case jsonb_typeof(doc)
    when 'object' then (select jsonb_object_agg(e.key, case
        when e.key = 'inputs' and jsonb_typeof(e.value->'forms') = 'object' then jsonb_set(e.value, '{forms}', (
          select coalesce(jsonb_object_agg(f.key, case when jsonb_typeof(f.value) <> 'object' then f.value else (
              select coalesce(jsonb_object_agg(i.key, case when is_identity(i.key, named) then '"[erased]"' else identity_free(i.value, named) end), '{}')
              from jsonb_each(f.value) i) end), '{}')
          from jsonb_each(e.value->'forms') f))
        else inputs_without_identity(e.value, named) end) from jsonb_each(doc) e)
    when 'array' then (select jsonb_agg(inputs_without_identity(e.value, named) order by e.at) from jsonb_array_elements(doc) with ordinality e (value, at))
    else doc end;
end $function$;

CREATE OR REPLACE FUNCTION public.insert_only(relation regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('create trigger insert_only before update or delete on %s for each row execute function refuse_change()', relation);
  execute format('create trigger insert_only_truncate before truncate on %s for each statement execute function refuse_change()', relation);
  execute format('revoke update, delete, truncate on %s from research_app', relation);
end $function$;

CREATE OR REPLACE FUNCTION public.is_identity(item text, named text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select folded(item) = any (array(select folded(n) from unnest(named) n))
    or item ~* '(^name$|(^|[._-])(email|mail|phone|mobile|telephone|fax|(first|last|given|family|middle|maiden|full|sur)[._-]{0,1}name|address|street|zip|zipcode|postcode|postal[._-]code|dob|date[._-]of[._-]birth|birth[._-]{0,1}date|birthday|ssn|mrn|national[._-]id|passport)([._-]|$))'
$function$;

CREATE OR REPLACE FUNCTION public.is_time_zone(p_zone text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform clock_timestamp() at time zone p_zone;
  return true;
exception when invalid_parameter_value then
  return false;
end $function$;

CREATE OR REPLACE FUNCTION public.isolate_by_study(relation regclass, study_column text DEFAULT 'study_id'::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('alter table %s enable row level security', relation);
  execute format('alter table %s force row level security', relation);
  execute format(
    'create policy study_isolation on %s using ((select app_sees_all()) or %I = (select app_study()) or %I = any ((select app_studies())::uuid[]))',
    relation, study_column, study_column);
  execute format('grant select, insert, update, delete on %s to research_app', relation);
end $function$;

CREATE OR REPLACE FUNCTION public.keep_device_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.device_key := coalesce(old.device_key, hashtextextended(old.device_id, 0)::text);
  new.started_device_id := null;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_erased()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.email := null; new.phone := null; new.date_of_birth := null;
  new.participant_code := old.participant_code; new.status := old.status; new.erased_at := old.erased_at;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_erased_items()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from participants p where p.id = new.participant_id and p.erased_at is not null) then
    new.items := case
      when tg_op = 'UPDATE' then old.items
      when current_setting('app.loading_study', true) = new.study_id::text then without_identity(new.items, '{}')
      else '{}'::jsonb end;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keyed_hash(t text)
 RETURNS bytea
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
AS $function$
declare
  k bytea := decode(current_setting('app.pseudonym_key'), 'hex') || decode(repeat('00', 32), 'hex');
  i bytea := k; o bytea := k;
begin
  for n in 0..63 loop
    i := set_byte(i, n, get_byte(k, n) # 54);
    o := set_byte(o, n, get_byte(k, n) # 92);
  end loop;
  return sha256(o || sha256(i || convert_to(t, 'UTF8')));
end $function$;

CREATE OR REPLACE FUNCTION public.load_visit_states(given jsonb)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select r.participant_id, r.visit_id, r.study_id, r.name, r.battery_id, r.datacapture_event, r.status, r.status_reason, r.target_date, r.window_open, r.window_close,
    r.completed_at, r.session_id, r.anchor_reconciled_at, r.needs_review, r.reporting_target_date, r.changed_at
  from jsonb_array_elements(given) with ordinality as e(j, n) cross join lateral jsonb_populate_record(null::visit_states, e.j) r
  where r.study_id::text = current_setting('app.loading_study', true)
    and exists (select from scheduled_visits v where v.id = r.visit_id and v.study_id = r.study_id)
  order by e.n
$function$;

CREATE OR REPLACE FUNCTION public.local_instant(p_local timestamp without time zone, p_zone text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when t.first < t.at and t.first at time zone p_zone = p_local then t.first else t.at end
  from (select x.at, (p_local - ((x.at - interval '3 hours') at time zone p_zone - (x.at - interval '3 hours') at time zone 'UTC')) at time zone 'UTC' as first
        from (select p_local at time zone p_zone as at) x) t
$function$;

CREATE OR REPLACE FUNCTION public.login_ended(p_login uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$ begin return exists (select from refresh_tokens r where r.family_id = p_login and r.revoked_at is not null); end $function$;

CREATE OR REPLACE FUNCTION public.moment()
 RETURNS timestamp with time zone
 LANGUAGE sql
 PARALLEL RESTRICTED
AS $function$ select coalesce(nullif(current_setting('app.moment', true), '')::timestamptz, clock_timestamp()) $function$;

CREATE OR REPLACE FUNCTION public.participant_reminders()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.status = 'withdrawn' then
    update notifications set status = 'cancelled', reason = 'withdrawn' where participant_id = new.id and visit_key is not null and status = 'pending';
  else
    perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v where v.participant_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
    perform plan_reminders(array(select distinct row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from notifications n join scheduled_visits v on v.id = n.visit_id
    join participants p on p.id = n.participant_id
    where n.participant_id = new.id and n.kind = 'visit_missed' and n.status = 'pending' and n.visit_key is not null and v.status = 'missed'));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.plan_reminder_rows(p_visits visit_to_plan[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(cardinality(p_visits), 0) = 0 then return; end if;
  with changed as materialized (
    select v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close from unnest(p_visits) v
    where v.status in ('scheduled', 'open', 'missed')
  ), rules as materialized (
    -- Read once for each study, not for each visit: a study's configuration is long.
    select s.id as study_id, s.timezone, r.*, row_number() over (partition by s.id, r.channel order by r.days_before) = 1 as first from studies s cross join lateral reminder_rules(s.config) r where s.id in (select c.study_id from changed c)
  )
  insert into notifications as n (study_id, participant_id, visit_id, visit_key, kind, channel, days_before, target_date, due_at, attempt_at, status, reason)
  select w.study_id, w.participant_id, w.id, w.visit_key, w.kind, w.channel, w.days_before, w.target_date, w.due_at, w.due_at,
         case when w.stopped is not null then 'cancelled' when w.late then 'suppressed' else 'pending' end,
         case when w.stopped is not null then w.stopped when w.late then 'too_late' end
  from (
    select v.id, v.study_id, v.participant_id, v.visit_key, k.kind, r.channel, case when k.kind = 'visit_reminder' then r.days_before end as days_before, v.target_date, d.due_at,
           case when p.status = 'withdrawn' then 'withdrawn'
                when k.kind = 'visit_reminder' and (v.status = 'missed' or v.window_close < (clock_timestamp() at time zone coalesce(t.timezone, r.timezone))::date) then 'visit_over' end as stopped,
           d.due_at < clock_timestamp() - l.max_lateness as late
    from changed v
    join rules r on r.study_id = v.study_id
    join participants p on p.id = v.participant_id
    left join sites t on t.id = p.site_id
    cross join (select max_lateness from reminder_limits limit 1) l
    cross join lateral (select coalesce(p.timezone, t.timezone, r.timezone) as zone) z
    cross join lateral (
      select 'visit_reminder' as kind, v.target_date - r.days_before as day
      -- One for each channel, however many days before it was told.
      union all select 'visit_missed', v.window_close + 1 where v.status = 'missed' and r.first) k
    cross join lateral (select reminder_due(k.day, r.send_at, r.quiet_from, r.quiet_to, z.zone) as due_at) d
  ) w
  where not exists (
    select from notifications a
    where a.of_visit_key = w.visit_key and a.target_date = w.target_date and a.kind = w.kind and a.channel = w.channel and a.days_before is not distinct from w.days_before)
  order by w.visit_key, w.kind, w.channel, w.days_before
  on conflict (visit_key, kind, channel, days_before) where visit_key is not null do update
    set visit_id = excluded.visit_id, target_date = excluded.target_date, due_at = excluded.due_at, status = excluded.status, reason = excluded.reason,
        attempt_at = case when n.status = 'pending' and n.due_at = excluded.due_at then n.attempt_at else excluded.attempt_at end,
        attempts = case when n.due_at = excluded.due_at then n.attempts else 0 end,
        last_error = case when n.due_at = excluded.due_at then n.last_error end
    where n.status <> 'sent' and n.reason is distinct from 'cancelled_by_staff'
      and not (n.status = 'failed' and n.due_at = excluded.due_at)
      and (n.status, n.due_at, n.reason, n.target_date) is distinct from (excluded.status, excluded.due_at, excluded.reason, excluded.target_date)
       or n.status = 'pending' and n.visit_id <> excluded.visit_id;
end $function$;

CREATE OR REPLACE FUNCTION public.plan_reminders(p_visits visit_to_plan[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare moved uuid[];
begin
  if coalesce(cardinality(p_visits), 0) = 0 then return; end if;
  perform plan_reminder_rows(p_visits);
  with found as materialized (
    select m.id, m.status, m.visit_key, v.id as visit_id, v.target_date as present,
           coalesce(m.target_date, reminder_target(m.kind, m.days_before, m.due_at,
             (select coalesce(p.timezone, t.timezone, s.timezone) from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id where p.id = m.participant_id),
             v.target_date, v.window_close)) as target,
           m.status = 'pending' and exists (
             select from notifications a
             where a.of_visit_key = m.visit_key and a.target_date = v.target_date and a.kind = m.kind and a.channel = m.channel and a.days_before is not distinct from m.days_before) as again
    from unnest(p_visits) v join notifications m on m.visit_key = v.visit_key
    where v.status in ('scheduled', 'open', 'missed')
      and (m.status = 'pending' or m.status = 'sent' and (m.kind = 'visit_reminder' or v.status = 'missed'))
  ), changed as (
    update notifications n set
      target_date = case when f.status = 'sent' then f.target else n.target_date end,
      of_visit_key = case when f.status = 'sent' then n.visit_key else n.of_visit_key end,
      visit_key = case when f.status = 'sent' then null else n.visit_key end,
      status = case when f.status = 'sent' then 'sent' else 'cancelled' end,
      reason = case when f.status = 'sent' then n.reason when f.again then 'already_sent' else 'visit_moved' end
    from found f
    where n.id = f.id and n.status = f.status and n.visit_key is not null
      and (f.again or f.target <> f.present and (f.status = 'sent' or n.fallback_of is not null))
    returning f.visit_id, n.status
  )
  select array_agg(distinct c.visit_id) into moved from changed c where c.status = 'sent';
  if moved is not null then
    perform plan_reminder_rows(array(select v::visit_to_plan from unnest(p_visits) v where v.id = any (moved)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.portal_login_ended(p_login uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return p_login is not null and exists (select from portal_refresh_tokens r where r.family_id = p_login and r.ended_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION public.pseudonym(t text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
AS $function$ select left(encode(keyed_hash(t), 'hex'), 20) $function$;

CREATE OR REPLACE FUNCTION public.pseudonym_shift(p uuid)
 RETURNS integer
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
AS $function$ select -(1 + (get_byte(h, 0) * 256 + get_byte(h, 1)) % 364) from keyed_hash('shift ' || p::text) h $function$;

CREATE OR REPLACE FUNCTION public.record_changed_visits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare v_at timestamptz := least(moment(), (select min(updated_at) from after));
begin
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select c.*, v_at from (
    select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
      completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date from after
    except
    select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
      completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date from before) c;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.record_new_visits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare v_at timestamptz := moment();
begin
  if coalesce(current_setting('app.loading_study', true), '') <> '' then return null; end if;
  insert into visit_states (participant_id, visit_id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date, changed_at)
  select participant_id, id, study_id, name, battery_id, datacapture_event, status, status_reason, target_date, window_open, window_close,
    completed_at, session_id, anchor_reconciled_at, needs_review, reporting_target_date,
    case when schedule_version_id is null then least(v_at, created_at) else v_at end
  from made;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% of % is refused: its records are only inserted', tg_op, tg_table_name using errcode = '42501';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_published_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare r record := case when tg_op = 'INSERT' then new else old end;
begin
  if exists (select from battery_versions v join batteries b on b.id = v.battery_id where v.battery_id = r.battery_id and v.version = r.version) then
    raise exception '% of % is refused: version % of the battery is published', tg_op, tg_table_name, r.version using errcode = '42501';
  end if;
  return case when tg_op = 'DELETE' then old else new end;
end $function$;

CREATE OR REPLACE FUNCTION public.remind_instead(p_id uuid, p_channel text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update notifications f set of_visit_key = f.visit_key, visit_key = null
  from notifications n
  where n.id = p_id and f.visit_key = n.visit_key and f.kind = n.kind and f.channel = p_channel and f.days_before is not distinct from n.days_before
    and f.status = 'sent' and f.target_date <> n.target_date;
  insert into notifications as f (study_id, participant_id, visit_id, visit_key, kind, channel, days_before, target_date, due_at, attempt_at, fallback_of)
  select n.study_id, n.participant_id, n.visit_id, n.visit_key, n.kind, p_channel, n.days_before, n.target_date, n.due_at, now(), n.id
  from notifications n
  where n.id = p_id and n.visit_key is not null
    and not exists (
      select from notifications a
      where a.of_visit_key = n.visit_key and a.target_date = n.target_date and a.kind = n.kind and a.channel = p_channel and a.days_before is not distinct from n.days_before)
  on conflict (visit_key, kind, channel, days_before) where visit_key is not null do update
    set status = 'pending', reason = null, due_at = excluded.due_at, attempt_at = excluded.attempt_at, visit_id = excluded.visit_id,
        target_date = excluded.target_date, fallback_of = excluded.fallback_of
    where f.status in ('cancelled', 'suppressed', 'failed') and f.due_at <> excluded.due_at;
end $function$;

CREATE OR REPLACE FUNCTION public.reminder_due(p_day date, p_send time without time zone, p_from time without time zone, p_to time without time zone, p_zone text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select local_instant(case
    when p_from is null or p_to is null or p_from = p_to then p_day + p_send
    when p_from < p_to then p_day + case when p_send >= p_from and p_send < p_to then p_to else p_send end
    when p_send >= p_from then p_day + 1 + p_to
    when p_send < p_to then p_day + p_to
    else p_day + p_send end, p_zone)
$function$;

CREATE OR REPLACE FUNCTION public.reminder_rules(p_config jsonb)
 RETURNS TABLE(channel text, days_before integer, send_at time without time zone, quiet_from time without time zone, quiet_to time without time zone)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select c.channel, d.days_before::integer, coalesce(clock_time(n.v ->> 'send_at'), time '09:00'),
         clock_time(n.v #>> '{quiet_hours,from}'), clock_time(n.v #>> '{quiet_hours,to}')
  from (select case when jsonb_typeof(p_config -> 'notifications') = 'object' then p_config -> 'notifications' else '{}' end as v) n
  cross join lateral jsonb_array_elements_text(case when jsonb_typeof(n.v -> 'channels') = 'array' then n.v -> 'channels' else '["email"]' end) c(channel)
  cross join lateral jsonb_array_elements_text(case when jsonb_typeof(n.v -> 'days_before') = 'array' then n.v -> 'days_before' else '[1]' end) d(days_before)
  where c.channel in ('email', 'sms', 'push') and d.days_before ~ '^[0-9]{1,3}$'
$function$;

CREATE OR REPLACE FUNCTION public.reminder_target(p_kind text, p_days integer, p_due timestamp with time zone, p_zone text, p_target date, p_close date)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when abs(d.day - p_target) <= 1 then p_target else d.day end
  from (select (p_due at time zone p_zone)::date + case when p_kind = 'visit_reminder' then p_days else p_target - p_close - 1 end as day) d
$function$;

CREATE OR REPLACE FUNCTION public.request_actor(p_user uuid, p_study uuid, p_site uuid, p_participant uuid)
 RETURNS TABLE(id uuid, email character varying, name character varying, role character varying, status character varying, study_ids uuid[], site_ids uuid[], study_seen boolean, site_seen boolean, participant_seen boolean, session_epoch integer)
 LANGUAGE plpgsql
AS $function$
begin
  return query select c.id, c.email, c.name, c.role, c.status, c.study_ids, c.site_ids, c.study_seen, c.site_seen, c.participant_seen, c.session_epoch
    from request_caller(p_user, p_study, p_site, p_participant, null) c;
end $function$;

CREATE OR REPLACE FUNCTION public.request_caller(p_user uuid, p_study uuid, p_site uuid, p_participant uuid, p_login uuid)
 RETURNS TABLE(id uuid, email character varying, name character varying, role character varying, status character varying, study_ids uuid[], site_ids uuid[], study_seen boolean, site_seen boolean, participant_seen boolean, session_epoch integer, login_ended boolean)
 LANGUAGE plpgsql
AS $function$
declare v_sites uuid[]; v_study uuid; v_site_studies uuid[]; v text;
begin
  select x.id, x.email, x.name, x.role, x.status, x.session_epoch,
         array(select s.study_id from user_studies s where s.user_id = x.id order by 1),
         array(select s.site_id from user_sites s where s.user_id = x.id order by 1),
         p_login is not null and exists (select from refresh_tokens r where r.family_id = p_login and r.revoked_at is not null)
    into id, email, name, role, status, session_epoch, study_ids, site_ids, login_ended
    from users x where x.id = p_user;
  if not found then return; end if;
  v := set_config('app.sites', '', true);
  v := set_config('app.site_studies', '', true);
  v := set_config('app.studies', case
    when status <> 'active' then ''
    when p_study is not null then case when role = 'admin' or p_study = any (study_ids) then p_study::text else '' end
    when role = 'admin' then '*'
    else array_to_string(study_ids, ',') end, true);
  if role in ('coordinator', 'investigator') and cardinality(site_ids) > 0 then v_sites := site_ids; end if;
  study_seen := true;
  site_seen := true;
  participant_seen := true;
  if p_site is not null then
    select t.study_id into v_study from sites t where t.id = p_site;
    site_seen := v_study is not null and (v_sites is null or p_site = any (v_sites)
      or not exists (select from sites b where b.study_id = v_study and b.id = any (v_sites)));
    v_sites := array[p_site];
    -- A site is of one study: naming it narrows to that study as well.
    if site_seen then v := set_config('app.studies', v_study::text, true); end if;
  end if;
  if v_sites is not null then
    v_site_studies := array(select distinct t.study_id from sites t where t.id = any (v_sites));
    v := set_config('app.sites', array_to_string(v_sites, ','), true);
    v := set_config('app.site_studies', array_to_string(v_site_studies, ','), true);
  end if;
  if p_study is not null then study_seen := exists (select from studies t where t.id = p_study); end if;
  if p_participant is not null then participant_seen := exists (select from participants t where t.id = p_participant); end if;
  return next;
end $function$;

CREATE OR REPLACE FUNCTION public.request_caregiver(p_caregiver uuid, p_participant uuid)
 RETURNS TABLE(caregiver_id uuid, caregiver_name character varying, caregiver_language character varying, caregiver_status character varying, caregiver_study uuid, cares_for integer, id uuid, study_id uuid, site_id uuid, participant_code character varying, preferred_language character varying, status character varying, session_epoch integer)
 LANGUAGE plpgsql
AS $function$
declare c record; v_people uuid[]; v_one uuid;
begin
  perform set_config('app.studies', '*', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.name, x.preferred_language, x.status, x.study_id, x.session_epoch into c from caregivers x where x.id = p_caregiver;
  if c.id is not null and c.status = 'active' then
    v_people := array(select p.id from caregiver_participants k join participants p on p.id = k.participant_id where k.caregiver_id = c.id and p.status = 'enrolled');
  end if;
  v_people := coalesce(v_people, '{}');
  perform set_config('app.studies', case when cardinality(v_people) > 0 then c.study_id::text else '' end, true);
  if c.id is null then return; end if;
  v_one := case when p_participant is not null then (select x from unnest(v_people) x where x = p_participant) when cardinality(v_people) = 1 then v_people[1] end;
  return query select c.id, c.name, c.preferred_language, c.status, c.study_id, cardinality(v_people), p.id, p.study_id, p.site_id, p.participant_code, p.preferred_language, p.status, c.session_epoch
    from (select 1) one left join participants p on p.id = v_one;
end $function$;

CREATE OR REPLACE FUNCTION public.request_participant(p_participant uuid)
 RETURNS TABLE(id uuid, study_id uuid, site_id uuid, participant_code character varying, preferred_language character varying, status character varying)
 LANGUAGE plpgsql
AS $function$
declare p record;
begin
  perform set_config('app.studies', '*', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.study_id, x.site_id, x.participant_code, x.preferred_language, x.status into p from participants x where x.id = p_participant;
  perform set_config('app.studies', case when p.status = 'enrolled' then p.study_id::text else '' end, true);
  if p.id is null then return; end if;
  return query select p.id, p.study_id, p.site_id, p.participant_code, p.preferred_language, p.status;
end $function$;

CREATE OR REPLACE FUNCTION public.request_token(p_token uuid, p_hash text, p_study uuid, p_site uuid, p_participant uuid)
 RETURNS TABLE(id uuid, email character varying, name character varying, role character varying, status character varying, study_ids uuid[], site_ids uuid[], study_seen boolean, site_seen boolean, participant_seen boolean, session_epoch integer, token_id uuid, scopes text[])
 LANGUAGE plpgsql
AS $function$
declare t record; c record; v_scope text; v_studies uuid[]; v_seen uuid[];
begin
  perform set_config('app.studies', '', true), set_config('app.sites', '', true), set_config('app.site_studies', '', true);
  select x.id, x.user_id, x.scopes, x.study_ids into t from api_tokens x
    where x.id = p_token and x.token_hash = decode(p_hash, 'hex') and x.revoked_at is null and x.expires_at > clock_timestamp();
  if not found then return; end if;
  select * into c from request_caller(t.user_id, p_study, p_site, p_participant, null);
  if not found then return; end if;
  v_studies := case when c.role = 'admin' then t.study_ids else array(select s from unnest(t.study_ids) s where s = any (c.study_ids)) end;
  v_scope := current_setting('app.studies');
  v_seen := case v_scope when '*' then v_studies when '' then '{}'::uuid[]
    else array(select s from unnest(string_to_array(v_scope, ',')::uuid[]) s where s = any (v_studies)) end;
  perform set_config('app.studies', array_to_string(v_seen, ','), true);
  return query select c.id, c.email, c.name, c.role, c.status, v_studies, c.site_ids,
    c.study_seen and (p_study is null or p_study = any (v_seen)),
    c.site_seen and (p_site is null or cardinality(v_seen) > 0),
    c.participant_seen and (p_participant is null or exists (select from participants p where p.id = p_participant)),
    c.session_epoch, t.id, t.scopes;
end $function$;

CREATE OR REPLACE FUNCTION public.session_public_id(session uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ select encode(substr(sha256(convert_to('session ' || session::text, 'UTF8')), 1, 16), 'hex')::uuid $function$;

CREATE OR REPLACE FUNCTION public.site_reminders()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform plan_reminders(array(
    select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v join participants p on p.id = v.participant_id
    where p.site_id = new.id and p.status = 'enrolled' and v.status in ('scheduled', 'open') and v.window_close >= current_date - 2));
  perform plan_reminders(array(select distinct row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from notifications n join scheduled_visits v on v.id = n.visit_id
    join participants p on p.id = n.participant_id
    where n.study_id = new.study_id and p.site_id = new.id and n.kind = 'visit_missed' and n.status = 'pending' and n.visit_key is not null and v.status = 'missed'));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.stop_reminders(p_visits visit_to_plan[], p_reason text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update notifications n set status = 'cancelled', reason = p_reason
  from unnest(p_visits) v where n.visit_key = v.visit_key and n.status = 'pending'
$function$;

CREATE OR REPLACE FUNCTION public.study_reminders()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from scheduled_visits v where v.study_id = new.id and v.status in ('scheduled', 'open') and window_close >= current_date - 2));
  perform plan_reminders(array(select distinct row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from notifications n join scheduled_visits v on v.id = n.visit_id
    join participants p on p.id = n.participant_id
    where n.study_id = new.id and n.kind = 'visit_missed' and n.status = 'pending' and n.visit_key is not null and v.status = 'missed'));
  update notifications n set status = 'cancelled', reason = 'rule_removed'
  where n.study_id = new.id and n.visit_key is not null and n.status = 'pending' and n.fallback_of is null
    and not exists (select from reminder_rules(new.config) r where r.channel = n.channel and (n.kind <> 'visit_reminder' or r.days_before = n.days_before));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.study_size(p_study uuid)
 RETURNS TABLE(participants bigint, sessions bigint, visits bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 1
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select (select count(*) from participants where study_id = p_study), (select count(*) from assessment_sessions where study_id = p_study),
    (select count(*) from scheduled_visits where study_id = p_study)
  where (app_sees_all() or p_study = app_study() or p_study = any (app_studies())) and app_all_sites()
$function$;

CREATE OR REPLACE FUNCTION public.touch_caregiver()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update caregivers set updated_at = clock_timestamp() where id = coalesce(new.caregiver_id, old.caregiver_id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.touch_moment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin new.updated_at := moment(); return new; end $function$;

CREATE OR REPLACE FUNCTION public.touch_updated_at()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin new.updated_at := clock_timestamp(); return new; end $function$;

CREATE OR REPLACE FUNCTION public.visit_adherence(p_status text, p_completed_at timestamp with time zone, p_open date, p_close date, p_zone text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select case p_status
    when 'completed' then case when (p_completed_at at time zone p_zone)::date < p_open then 'early' when (p_completed_at at time zone p_zone)::date > p_close then 'late' else 'in_window' end
    when 'missed' then 'missed'
    when 'cancelled' then 'cancelled'
    when 'scheduled' then 'pending'
    when 'open' then 'pending'
  end $function$;

CREATE OR REPLACE FUNCTION public.visits_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  waiting visit_to_plan[];
  completed visit_to_plan[];
  cancelled visit_to_plan[];
begin
  -- To a reminder an open visit is a scheduled one, and the dates of one that has ended are nothing.
  select array_agg(row(c.*)::visit_to_plan) filter (where c.status in ('scheduled', 'missed')),
         array_agg(row(c.*)::visit_to_plan) filter (where c.status = 'completed'),
         array_agg(row(c.*)::visit_to_plan) filter (where c.status = 'cancelled')
  into waiting, completed, cancelled
  from (
    select id, study_id, participant_id, visit_key, case status when 'open' then 'scheduled' else status end as status,
      case when status in ('scheduled', 'open', 'missed') then target_date end, case when status in ('scheduled', 'open', 'missed') then window_close end
    from after_change
    except
    select id, study_id, participant_id, visit_key, case status when 'open' then 'scheduled' else status end,
      case when status in ('scheduled', 'open', 'missed') then target_date end, case when status in ('scheduled', 'open', 'missed') then window_close end
    from before_change) c;
  if waiting is not null then perform plan_reminders(waiting); end if;
  if completed is not null then perform stop_reminders(completed, 'completed'); end if;
  if cancelled is not null then perform stop_reminders(cancelled, 'visit_cancelled'); end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.visits_made()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform plan_reminders(array(select row(v.id, v.study_id, v.participant_id, v.visit_key, v.status, v.target_date, v.window_close)::visit_to_plan from made v));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.without_identity(items jsonb, named text[])
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(jsonb_object_agg(key, identity_free(value, named)) filter (where not is_identity(key, named)), '{}') from jsonb_each(coalesce(items, '{}'))
$function$;

CREATE OR REPLACE FUNCTION public.without_notes(criteria jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(jsonb_object_agg(key, case when value->>'notes' is not null then value || '{"notes": "[erased]"}' else value end), '{}')
  from jsonb_each(criteria)
$function$;
