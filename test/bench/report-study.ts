import { randomUUID } from 'node:crypto';
import { studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const SITES = [
  ['BER', 'Europe/Berlin'],
  ['NYC', 'America/New_York'],
  ['TYO', 'Asia/Tokyo'],
  ['SYD', 'Australia/Sydney'],
] as const;

const PEOPLE = `
with sites_of as (select id, row_number() over (order by site_code) - 1 as n from sites where study_id = $1
), enrolled as (
  -- from tomorrow on, so that the sweep for participants without a running workflow leaves them alone
  insert into participants (study_id, participant_code, site_id, arm, status, withdrawn_at, enrollment_date, created_at)
  select $1, 'P-' || lpad(g.n::text, 6, '0'), s.id, case when g.n % 2 = 0 then 'A' else 'B' end, case when g.n % 20 = 0 then 'withdrawn' else 'enrolled' end, case when g.n % 20 = 0 then now() end,
    current_date - 500 + g.n % 450, now() + interval '1 day'
  from generate_series(1, $2::integer) g(n) left join sites_of s on s.n = g.n % 5 returning id, enrollment_date
)
insert into anchor_dates (participant_id, study_id, enrollment_date_value, timezone, source_type, source_ref, captured_at, status, finalized_at, finalized_by_id, version)
select id, $1, enrollment_date, 'Europe/Berlin', 'manual_entry', jsonb_build_object('entered_by_user_id', $3::text), now(), 'finalized', now(), $3::uuid, 2 from enrolled`;

/**
 * Of ten visits six are completed where their time has come: in the window, before and after it; others were cancelled
 * or passed by.
 */
const VISITS = `
insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, name, target_date, window_open, window_close, is_baseline, status, completed_at)
select gen_random_uuid(), w.study_id, p.id, w.id, w.name, d.target, d.target - w.window_before, d.target + w.window_after, w.is_baseline, k.status, case when k.status = 'completed' then (d.target + (k.fate % 7) - 2) + time '10:00' end
from participants p join visit_windows w on w.study_id = p.study_id
cross join lateral (select p.enrollment_date + w.target_day as target) d
cross join lateral (select abs(hashtext(p.id::text || w.code)) % 100 as fate) f
cross join lateral (select f.fate, case when f.fate < 3 then 'cancelled' when d.target + w.window_after < current_date then case when f.fate < 75 then 'completed' else 'missed' end
  when d.target - w.window_before <= current_date then 'open' else 'scheduled' end as status) k
where p.study_id = $1`;

const SESSIONS = `
with sessions as (
  insert into assessment_sessions (study_id, participant_id, visit_id, status, started_at, expires_at, completed_at)
  select v.study_id, v.participant_id, v.id, 'completed', v.completed_at - interval '20 minutes', v.completed_at + interval '2 hours', v.completed_at
  from scheduled_visits v where v.study_id = $1 and v.status = 'completed' and abs(hashtext(v.id::text)) % 100 < $2::integer returning id
)
insert into session_tasks (session_id, task, study_id, summary, computed_summary, trial_count, content_hash)
select s.id, t.task, $1, jsonb_build_object('mean_rt', round((400 + random() * 300)::numeric, 2), 'accuracy', round((0.7 + random() * 0.3)::numeric, 4), 'median_rt', round((390 + random() * 280)::numeric, 2)), '{}', 0, repeat('0', 64)
from sessions s cross join (values ('stroop'), ('n_back')) t(task)`;

/**
 * A study with sites, arms, visits of every fate and sessions with two tasks, made in sets; what runs beside a visit
 * (reminders, its states) is not needed here.
 */
export async function reportedStudy(
  stage: Stage,
  participants: number,
  windows: number,
  sessionShare: number,
): Promise<string> {
  const studyId = await studyWithWindows(stage, windows);
  for (const [site_code, timezone] of SITES)
    await stage.call('POST', `/api/studies/${studyId}/sites`, { site_code, timezone, name: randomUUID() });
  const client = await stage.sql.connect();
  try {
    await client.query(`begin; set local session_replication_role = replica`);
    await client.query(PEOPLE, [studyId, participants, stage.adminId]);
    await client.query(VISITS, [studyId]);
    await client.query(SESSIONS, [studyId, sessionShare]);
    await client.query('commit');
  } finally {
    client.release();
  }
  await stage.sql.query(
    'vacuum analyze participants, anchor_dates, scheduled_visits, assessment_sessions, session_tasks, sites',
  );
  return studyId;
}
