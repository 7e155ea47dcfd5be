/** The audit chain, outgoing events, the outbox to Temporal, notifications. */
export const name = '0004-record-keeping';
export const up = `
create table audit_log (
  seq bigint not null,
  chain varchar(64) not null,
  study_id uuid,
  user_id uuid,
  action varchar(100) not null,
  resource_type varchar(60) not null,
  resource_id varchar(200),
  audit_metadata jsonb not null default '{}',
  request_id varchar(36),
  created_at timestamptz not null,
  prev_hash char(64) not null,
  hash char(64) not null,
  hash_version smallint not null default 1,
  primary key (chain, seq),
  unique (chain, prev_hash)
);
create index audit_log_study on audit_log (study_id, created_at);
create index audit_log_resource on audit_log (resource_type, resource_id);

-- One row a chain: the head that the next record is sealed to, and the lock that keeps writers in line.
create table audit_chains (
  chain varchar(64) primary key,
  study_id uuid,
  seq bigint not null default 0,
  head char(64) not null
);

alter table audit_log enable row level security;
alter table audit_log force row level security;
create policy audit_read on audit_log for select using ((select app_sees_all()) or study_id = any ((select app_studies())::uuid[]));
-- Nobody holds the right to insert but the owner, through audit_append.
create policy audit_write on audit_log for insert with check (true);
grant select on audit_log, audit_chains to research_app;
select insert_only('audit_log');

-- The record as it is hashed: RFC 8785 (keys in order, no spaces). to_json escapes strings as ECMAScript does.
create function audit_canonical(r audit_log, metadata text) returns text language sql stable as $$
  select '{"action":' || to_json(r.action)::text
    || ',"audit_metadata":' || metadata
    || ',"chain":' || to_json(r.chain)::text
    || ',"created_at":"' || to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    || '","hash_version":' || r.hash_version
    || ',"request_id":' || coalesce(to_json(r.request_id)::text, 'null')
    || ',"resource_id":' || coalesce(to_json(r.resource_id)::text, 'null')
    || ',"resource_type":' || to_json(r.resource_type)::text
    || ',"seq":' || r.seq
    || ',"study_id":' || coalesce(to_json(r.study_id)::text, 'null')
    || ',"user_id":' || coalesce(to_json(r.user_id)::text, 'null') || '}'
$$;

-- Seals records to the end of their chain, in the caller's transaction. Called last: the head's row stays locked
-- until the commit, and a chain's writers wait for each other only that long.
-- entries: [{user_id, action, resource_type, resource_id, metadata (canonical JSON text), request_id}]
create function audit_append(p_study uuid, entries jsonb) returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_chain text := coalesce(p_study::text, 'service');
  v_head text; v_seq bigint; e jsonb; r audit_log;
begin
  select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  if not found then
    insert into audit_chains (chain, study_id, seq, head) values (v_chain, p_study, 0, repeat('0', 64)) on conflict do nothing;
    select seq, head into v_seq, v_head from audit_chains where chain = v_chain for update;
  end if;
  for e in select * from jsonb_array_elements(entries) loop
    v_seq := v_seq + 1;
    r.seq := v_seq; r.chain := v_chain; r.study_id := p_study;
    r.user_id := (e->>'user_id')::uuid; r.action := e->>'action';
    r.resource_type := e->>'resource_type'; r.resource_id := e->>'resource_id';
    r.audit_metadata := (e->>'metadata')::jsonb; r.request_id := e->>'request_id';
    r.created_at := clock_timestamp(); r.hash_version := 1; r.prev_hash := v_head;
    r.hash := encode(sha256(convert_to(v_head || audit_canonical(r, e->>'metadata'), 'UTF8')), 'hex');
    insert into audit_log values (r.*);
    v_head := r.hash;
  end loop;
  update audit_chains set seq = v_seq, head = v_head where chain = v_chain;
  return v_seq;
end $$;
revoke all on function audit_append(uuid, jsonb) from public;
grant execute on function audit_append(uuid, jsonb) to research_app;

create table audit_checkpoints (
  id uuid primary key default gen_random_uuid(),
  chain varchar(64) not null,
  seq bigint not null,
  head char(64) not null,
  created_at timestamptz not null,
  public_key text not null,
  signature text not null
);
create index audit_checkpoints_chain on audit_checkpoints (chain, seq);
grant select, insert on audit_checkpoints to research_app;
select insert_only('audit_checkpoints');

-- Events for subscribers. Written with the change that they tell of.
create table domain_events (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  type varchar(60) not null,
  study_id uuid not null references studies on delete cascade,
  participant_id uuid,
  occurred_at timestamptz not null default clock_timestamp(),
  data jsonb not null default '{}'
);
create index domain_events_study on domain_events (study_id, seq);
select isolate_by_study('domain_events');
select insert_only('domain_events');

-- Messages that must reach Temporal: committed with the change, delivered by a relay, also when Temporal was away.
create table outbox (
  id bigint generated always as identity primary key,
  topic varchar(40) not null,
  study_id uuid,
  subject varchar(200) not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  available_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  last_error text
);
create index outbox_due on outbox (available_at, id);
-- No trigger says NOTIFY: within a transaction it takes a lock of the whole server until the commit, and the
-- commits of a burst would wait for each other. The writer nudges the relay after its commit (db/outbox/outbox.ts).
grant select, insert, update, delete on outbox to research_app;

create table notifications (
  id uuid primary key default gen_random_uuid(),
  study_id uuid references studies on delete cascade,
  participant_id uuid references participants on delete cascade,
  user_id uuid references users on delete cascade,
  visit_id uuid references scheduled_visits on delete cascade,
  subject_id uuid,
  kind varchar(40) not null,
  channel varchar(10) not null check (channel in ('email','sms','push')),
  status varchar(20) not null default 'pending' check (status in ('pending','sent','failed','cancelled','suppressed')),
  due_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz,
  attempts integer not null default 0,
  last_error text,
  reason text,
  dedupe_key varchar(200) unique,
  created_at timestamptz not null default clock_timestamp(),
  check ((status = 'sent') = (sent_at is not null))
);
create index notifications_due on notifications (due_at) where status = 'pending';
create index notifications_participant on notifications (participant_id);
select isolate_by_study('notifications');
`;
