import type { Knex } from 'knex';
import { migrations } from '../../db/migrations/index.js';
import type { SqlMigration } from '../../db/migrations/index.js';

/** The revision that the first release had. */
const REVISION = '0015-regeneration-cost';
export const PEOPLE = 400;

/** Brings an empty database to the schema of the first release. */
export async function firstSchema(owner: Knex): Promise<void> {
  const first = migrations.slice(0, migrations.findIndex(({ name }) => name === REVISION) + 1);
  const migrationSource: Knex.MigrationSource<SqlMigration> = {
    getMigrations: async () => [...first],
    getMigrationName: ({ name }) => name,
    getMigration: async ({ up }) => ({
      up: async (knex) => {
        await knex.raw(up);
      },
      down: async () => {
        throw new Error('migrations only go forward');
      },
    }),
  };
  await owner.migrate.latest({ migrationSource });
  await owner.raw('grant research_app to current_user; grant select on knex_migrations to research_app');
}

/** What that release left of a study that was under way: something in each of its tables, in each of their states. */
export async function firstData(
  owner: Knex,
  study: string,
  admin: { id: string; email: string; password_hash: string },
): Promise<void> {
  await owner.transaction(async (tx) => {
    await tx.raw(`select set_config('app.studies', '*', true)`);
    for (const statement of DATA)
      await tx.raw(statement, {
        study,
        admin: admin.id,
        email: admin.email,
        hash: admin.password_hash,
        people: PEOPLE,
      });
  });
}

/** Of participant number n, whose ids are made of it. */
const P = `md5('p' || n)::uuid`,
  ANCHOR = `md5('a' || n)::uuid`,
  SEEN = 'from generate_series(1, :people) n';
const DATA = [
  `insert into users (id, email, name, role, password_hash) values (:admin, :email, 'An admin', 'admin', :hash), (md5('r')::uuid, 'r@example.org', 'A researcher', 'researcher', :hash)`,
  `insert into studies (id, study_code, study_name, integration_mode, datacapture_enabled, config) values (:study, 'FIRST', 'The first', 'datacapture', true, '{"notifications":{"channels":["email"],"days_before":[1]}}')`,
  `insert into user_studies values (md5('r')::uuid, :study)`,
  `insert into refresh_tokens (family_id, user_id, token_hash, expires_at) values (md5('f')::uuid, :admin, 'abc'::bytea, now() + interval '1 day')`,
  `insert into idempotency_keys (caller, method, path, key, body_hash, status, body, finished_at) values ('c', 'POST', '/api/x', 'k', 'h'::bytea, 201, '{}', now())`,
  `insert into sites (id, study_id, site_code, name) values (md5('s')::uuid, :study, 'S1', 'A site')`,
  `insert into user_sites values (md5('r')::uuid, md5('s')::uuid)`,
  `insert into enrollment_policies (study_id, policy_version, policy, author_id) values (:study, 1, '{"sources":[{"type":"manual_entry","priority":1,"is_active":true}]}', :admin)`,
  `insert into participants (id, study_id, participant_code, external_id, site_id, enrollment_date, email, status, withdrawn_at)
   select ${P}, :study, 'P-' || n, 'R-' || n, md5('s')::uuid, date '2024-03-10', 'p' || n || '@example.org', case when n % 10 = 0 then 'withdrawn' else 'enrolled' end, case when n % 10 = 0 then now() end ${SEEN}`,
  `insert into consents (study_id, participant_id, status, signed_at) select :study, ${P}, case when n % 7 = 0 then 'revoked' else 'signed' end, '2024-03-01T09:00:00Z' ${SEEN}`,
  `insert into eligibility_assessments (study_id, participant_id, status, confirmed_at) select :study, ${P}, 'eligible', '2024-03-02T09:00:00Z' ${SEEN} where n % 2 = 0`,
  `insert into randomizations (study_id, participant_id, arm, randomized_at) select :study, ${P}, 'A', '2024-03-03T09:00:00Z' ${SEEN} where n % 3 = 0`,
  `insert into form_instances (study_id, participant_id, form_oid, status, items, origin) select :study, ${P}, 'enroll', 'complete', '{"enrolled":"2024-03-10"}', 'datacapture' ${SEEN}`,
  `insert into manual_anchor_entries (study_id, participant_id, enrollment_date, entered_by_user_id) select :study, ${P}, date '2024-03-10', :admin ${SEEN}`,
  `insert into batteries (study_id, code, name, status) values (:study, 'B', 'A battery', 'published')`,
  `insert into battery_modules (battery_id, version, study_id, position, task, name) select id, 1, study_id, 1, 'stroop', 'Stroop' from batteries`,
  `insert into battery_versions (battery_id, version, study_id, name) select id, 1, study_id, name from batteries`,
  `insert into visit_windows (id, study_id, code, name, target_day) values (md5('w')::uuid, :study, 'D30', 'Day 30', 30)`,
  `insert into anchor_dates (id, participant_id, study_id, enrollment_date_value, source_type, status, finalized_at, version) select ${ANCHOR}, ${P}, :study, date '2024-03-10', 'manual_entry', 'finalized', now(), 2 ${SEEN}`,
  `insert into anchor_date_history (id, anchor_date_id, participant_id, study_id, event_type, anchor_version, enrollment_date_value, precision, status_before, status_after, source_type, actor_type)
   select md5('h' || n)::uuid, ${ANCHOR}, ${P}, :study, 'SET', 2, date '2024-03-10', 'date', 'unset', 'finalized', 'manual_entry', 'user' ${SEEN}`,
  `insert into anchor_decisions (history_id, study_id, participant_id, policy_version, facts, command, trace, decision) select md5('h' || n)::uuid, :study, ${P}, 1, '{}', '{}', '[]', '{}' ${SEEN}`,
  `insert into schedule_versions (id, participant_id, study_id, version_number, anchor_date_used, anchor_version, anchor_date_id, visits_generated) select md5('v' || n)::uuid, ${P}, :study, 1, date '2024-03-10', 2, ${ANCHOR}, 1 ${SEEN}`,
  `update anchor_dates set current_schedule_version_id = v.id from schedule_versions v where v.participant_id = anchor_dates.participant_id`,
  `insert into scheduled_visits (id, visit_key, study_id, participant_id, visit_window_id, schedule_version_id, name, target_date, window_open, window_close, status, completed_at)
   select md5('t' || n)::uuid, md5('k' || n)::uuid, :study, ${P}, md5('w')::uuid, md5('v' || n)::uuid, 'Day 30', date '2024-04-09', date '2024-04-09', date '2024-04-16',
     (array['completed','missed','cancelled','superseded'])[1 + n % 4], case when n % 4 = 0 then now() end ${SEEN}`,
  `insert into override_requests (study_id, participant_id, previous_enrollment_date, new_enrollment_date, requested_by_id, remind_at, expires_at, status, decided_at, impact, preview_hash)
   select :study, ${P}, date '2024-03-10', date '2024-03-12', md5('r')::uuid, now(), now() + interval '1 day', case when n % 2 = 0 then 'pending' else 'expired' end, case when n % 2 = 1 then now() end, '{}', '' ${SEEN} where n < 40`,
  `insert into anchor_commands (id, study_id, participant_id, kind, outcome) select 'c' || n, :study, ${P}, 'set', '{}' ${SEEN}`,
  `insert into domain_events (type, study_id, participant_id) select 'ENROLLMENT_DATE_SET', :study, ${P} ${SEEN}`,
  `insert into outbox (topic, study_id, subject) select 'participant-start', :study, ${P}::text ${SEEN} where n < 20`,
  `insert into notifications (study_id, participant_id, visit_id, kind, channel, status, sent_at, dedupe_key) select :study, ${P}, md5('t' || n)::uuid, 'override_requested', 'email', case when n % 2 = 0 then 'sent' else 'pending' end, case when n % 2 = 0 then now() end, 'd' || n ${SEEN}`,
  `insert into datacapture_configs (study_id, api_url, api_token_encrypted, project_id) values (:study, 'https://capture.example.org/api/', 'v1:x', '1')`,
  `insert into webhook_events (study_id, project_id, record, instrument, raw_body_hash, status, participant_id) select :study, '1', 'R-' || n, 'enroll', sha256(n::text::bytea), 'processed', ${P} ${SEEN}`,
  `insert into datacapture_records (study_id, record, content_hash, read_at) select :study, 'R-' || n, md5('c' || n), now() ${SEEN}`,
  `insert into assessment_sessions (id, study_id, participant_id, status, expires_at, completed_at) select md5('z' || n)::uuid, :study, ${P}, 'completed', now(), now() ${SEEN}`,
  `insert into session_tasks (session_id, task, study_id, summary, computed_summary, trial_count, content_hash) select md5('z' || n)::uuid, 'stroop', :study, '{"accuracy":1}', '{}', 2, md5('t' || n) ${SEEN}`,
  `insert into raw_trial_chunks (session_id, task, chunk, study_id, trials, trial_index, rt, correct, at) select md5('z' || n)::uuid, 'stroop', 0, :study, 2, '{0,1}', '{300,310.5}', '{t,f}', array[now(), now()] ${SEEN}`,
  `select audit_append(:study, jsonb_agg(jsonb_build_object('user_id', :admin::text, 'action', 'participant_created', 'resource_type', 'participant', 'resource_id', ${P}, 'metadata', '{}', 'request_id', null))) ${SEEN}`,
  `select audit_append(null, '[{"user_id":null,"action":"login","resource_type":"user","resource_id":"x","metadata":"{}","request_id":null}]')`,
];

/**
 * The contents of a study in each table that there is now, and of what belongs to none, as one hash of the columns that
 * there are now.
 */
export async function contents(owner: Knex, study: string): Promise<Digest[]> {
  const { rows } = await owner.raw<{ rows: { table: string; columns: string[] }[] }>(
    `select c.relname as table, array_agg(quote_ident(a.attname) order by a.attname) as columns from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'knex%' and c.relname <> 'rate_limits' group by 1 order by 1`,
  );
  return Promise.all(rows.map(({ table, columns }) => digest(owner, study, table, columns)));
}

export interface Digest {
  table: string;
  columns: string[];
  rows: number;
  hash: string;
}

/** The same of the same columns later. What was expired is denied since requests have no other end. */
export function digest(owner: Knex, study: string, table: string, columns: string[]): Promise<Digest> {
  const own = table === 'studies' ? 'where id = :study' : columns.includes('study_id') ? 'where study_id = :study' : '';
  const shown = columns.map((column) =>
    table === 'override_requests' && column === 'status' ? `replace(status, 'expired', 'denied') as status` : column,
  );
  return owner.transaction(async (tx) => {
    await tx.raw(`select set_config('app.studies', '*', true), set_config('timezone', 'UTC', true)`);
    const {
      rows: [row],
    } = await tx.raw<{ rows: [{ rows: number; hash: string }] }>(
      `select count(*)::int as rows, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash from (select ${shown.join(', ')} from ${table} ${own}) t`,
      own === '' ? ([] as never) : { study },
    );
    return { table, columns, ...row };
  });
}
