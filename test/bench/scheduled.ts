import { randomUUID } from 'node:crypto';
import { visitKey } from '../../db/audit/hashing.js';
import type { Stage } from './stage.js';

export const FIRST_DATE = '2024-03-10',
  OTHER_DATE = '2024-03-24';

/**
 * A study whose participants have two facts that give a date, a form's and one entered by hand, two weeks apart.
 * `provisional`: the dates wait for an eligibility that nobody confirms, and are scheduled already.
 */
export async function plannedStudy(
  stage: Stage,
  windows: number,
  status: 'finalized' | 'provisional',
): Promise<{ id: string; windows: string[] }> {
  const study = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`,
    study_name: 'Bench',
    consent_mode: 'external',
    start_date: '2020-01-01',
    timezone: 'Europe/Berlin',
    config: { enrollment_date_policy: policyThatPrefers('form_item', status) },
  });
  const ids: string[] = [];
  for (let i = 0; i < windows; i += 1) {
    const window = await stage.call<{ id: string }>('POST', '/api/schedules/windows', {
      study_id: study.id,
      code: `W${i}`,
      name: `Visit ${i}`,
      target_day: i * 30,
      window_before: 3,
      window_after: 7,
      is_baseline: i === 0,
      sort_order: i,
    });
    ids.push(window.id);
  }
  await stage.quiet();
  return { id: study.id, windows: ids };
}

/** The policy of such a study; the source that it prefers decides about every date. */
export const policyThatPrefers = (first: 'form_item' | 'manual_entry', status: 'finalized' | 'provisional') => ({
  sources: [
    {
      type: 'form_item',
      priority: first === 'form_item' ? 1 : 2,
      is_active: true,
      form_mapping: { form_oid: 'ENROLL', item_oid: 'DATE', partial_date_handling: 'reject' },
    },
    { type: 'manual_entry', priority: first === 'manual_entry' ? 1 : 2, is_active: true },
  ],
  prerequisites: { require_consent_signed: false, require_eligibility_confirmed: status === 'provisional' },
  schedule_on_provisional: true,
});

/** All in sets, as the anchors' own transactions would leave them; history, audit and messages are not needed here. */
const MADE = `
with enrolled as (
  -- from tomorrow on, so that the sweep for participants without a running workflow leaves them alone
  insert into participants (study_id, participant_code, preferred_language, enrollment_date, created_at)
  select $1, 'P-' || lpad(n::text, 5, '0'), 'en', $3::date, now() + interval '1 day' from generate_series(1, $2::integer) n returning id
), forms as (
  insert into form_instances (study_id, participant_id, form_oid, status, items) select $1, id, 'ENROLL', 'complete', jsonb_build_object('DATE', $3::text) from enrolled returning id, participant_id
), entries as (
  insert into manual_anchor_entries (study_id, participant_id, enrollment_date, entered_by_user_id) select $1, id, $4::date, $5 from enrolled
), versions as (
  select gen_random_uuid() as version_id, gen_random_uuid() as anchor_id, f.id as form_id, f.participant_id from forms f
), anchors as (
  insert into anchor_dates (id, participant_id, study_id, enrollment_date_value, timezone, source_type, source_ref, captured_at, status, finalized_at, finalized_by_id, version, current_schedule_version_id)
  select anchor_id, participant_id, $1, $3::date, 'Europe/Berlin', 'form_item', jsonb_build_object('form_instance_id', form_id, 'form_oid', 'ENROLL', 'item_oid', 'DATE'), now(), $6::text,
    case when $6::text = 'finalized' then now() end, case when $6::text = 'finalized' then $5::uuid end, 2, version_id from versions
)
insert into schedule_versions (id, participant_id, study_id, version_number, anchor_date_used, anchor_version, anchor_date_id, visits_generated)
select version_id, participant_id, $1, 1, $3::date, 2, anchor_id, $7::integer from versions returning id, participant_id`;

const VISITS = `
insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, schedule_version_id, name, target_date, window_open, window_close, is_baseline)
select k.visit_key, w.study_id, k.participant_id, w.id, k.version_id, w.name, $3::date + w.target_day, $3::date + w.target_day - w.window_before, $3::date + w.target_day + w.window_after, w.is_baseline
from unnest($1::uuid[], $2::uuid[], $4::uuid[], $5::uuid[]) as k(participant_id, version_id, visit_key, window_id) join visit_windows w on w.id = k.window_id`;

const BATCH = 500;

/** Participants who have a date and a schedule of it, without a message to Temporal: their workflows do not run. */
export async function enrollScheduled(
  stage: Stage,
  study: { id: string; windows: string[] },
  count: number,
  status: 'finalized' | 'provisional',
): Promise<string[]> {
  const { rows } = await stage.sql.query<{ id: string; participant_id: string }>(MADE, [
    study.id,
    count,
    FIRST_DATE,
    OTHER_DATE,
    stage.adminId,
    status,
    study.windows.length,
  ]);
  for (let at = 0; at < rows.length; at += BATCH) {
    const keyed = rows.slice(at, at + BATCH).flatMap(({ id, participant_id }) =>
      study.windows.map((window) => ({
        participant_id,
        id,
        window,
        key: visitKey(participant_id, `window:${window}`),
      })),
    );
    await stage.sql.query(VISITS, [
      keyed.map((k) => k.participant_id),
      keyed.map((k) => k.id),
      FIRST_DATE,
      keyed.map((k) => k.key),
      keyed.map((k) => k.window),
    ]);
  }
  await stage.sql.query(
    'vacuum analyze participants, anchor_dates, schedule_versions, scheduled_visits, visit_states, form_instances, manual_anchor_entries',
  );
  return rows.map(({ participant_id }) => participant_id);
}
