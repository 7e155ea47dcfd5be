/**
 * What each report answers, asked by hand: one plain statement for each, with the owner's rights, on no isolation and
 * no filters. `$1` is the study, of the participant's report its participant. Each answers one row, `answer`.
 */
const JUDGED = `
visits as (
  select v.*, p.participant_code, s.site_code, p.arm, z.zone,
    case when v.status in ('scheduled', 'open') and v.window_close < (now() at time zone z.zone)::date then 'missed' else v.status end as said,
    (v.completed_at at time zone z.zone)::date as done, coalesce(v.reporting_target_date - v.target_date, 0) as shift
  from scheduled_visits v join participants p on p.id = v.participant_id join studies y on y.id = p.study_id left join sites s on s.id = p.site_id
  cross join lateral (select coalesce(s.timezone, y.timezone) as zone) z where v.study_id = $1
), judged as (
  select *, case said when 'completed' then case when done < window_open + shift then 'early' when done > window_close + shift then 'late' else 'in_window' end
    when 'missed' then 'missed' when 'cancelled' then 'cancelled' when 'scheduled' then 'pending' when 'open' then 'pending' end as adherence, done - target_date - shift as off
  from visits
)`;
const SESSION = `case when x.status = 'active' and x.source = 'online' and x.expires_at <= now() then 'expired' else x.status end`;
const DUE = `adherence in ('early', 'in_window', 'late', 'missed')`;
const n = (condition: string) => `count(*) filter (where ${condition})`;

const summary = `with ${JUDGED}
select jsonb_build_object(
  'participants', (select jsonb_build_object('total', count(*), 'enrolled', ${n(`status = 'enrolled'`)}, 'withdrawn', ${n(`status = 'withdrawn'`)}) from participants where study_id = $1),
  'sessions', (select jsonb_build_object('total', count(*), 'completed', ${n(`s = 'completed'`)}, 'expired', ${n(`s = 'expired'`)}) from (select ${SESSION} as s from assessment_sessions x where study_id = $1) s),
  'visits', jsonb_build_object('total', count(*), ${['scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'].map((status) => `'${status}', ${n(`said = '${status}'`)}`).join(', ')}),
  'anchors', (select jsonb_build_object('unset', ${n(`status = 'unset'`)}, 'provisional', ${n(`status = 'provisional'`)}, 'finalized', ${n(`status = 'finalized'`)}, 'overridden', ${n('is_override')}) from anchor_dates where study_id = $1),
  'adherence', jsonb_build_object('due', ${n(DUE)}, 'completed_in_window', ${n(`adherence = 'in_window'`)}, 'rate', ${n(`adherence = 'in_window'`)}::float8 / nullif(${n(DUE)}, 0))) as answer
from judged`;

const enrollment = `with counted as (
  select to_char(enrollment_date, 'YYYY-MM') as month, count(*) as enrolled from participants where study_id = $1 and enrollment_date is not null group by 1
), months as (
  select to_char(m, 'YYYY-MM') as month, coalesce(c.enrolled, 0) as enrolled, sum(coalesce(c.enrolled, 0)) over (order by m) as cumulative
  from generate_series((select min(month) || '-01' from counted)::timestamp, (select max(month) || '-01' from counted)::timestamp, interval '1 month') m left join counted c on c.month = to_char(m, 'YYYY-MM'))
select jsonb_build_object(
  'total', (select count(*) from participants where study_id = $1), 'without_date', (select count(*) from participants where study_id = $1 and enrollment_date is null),
  'by_month', (select jsonb_agg(jsonb_build_object('month', month, 'enrolled', enrolled, 'cumulative', cumulative) order by month) from months),
  'by_site', (select jsonb_agg(jsonb_build_object('site_code', site_code, 'enrolled', enrolled) order by site_code nulls last) from (
    select s.site_code, count(*) as enrolled from participants p left join sites s on s.id = p.site_id where p.study_id = $1 group by 1) b)) as answer`;

const completion = `with ${JUDGED}
select jsonb_build_object('by_window', jsonb_agg(jsonb_build_object('code', w.code, 'name', w.name, 'due', c.due, 'completed', c.completed, 'in_window', c.in_window, 'late', c.late, 'missed', c.missed,
  'rate', c.completed::float8 / nullif(c.due, 0)) order by w.sort_order, w.target_day, w.code)) as answer
from (select visit_window_id, ${n(DUE)} as due, ${n(`said = 'completed'`)} as completed, ${n(`adherence = 'in_window'`)} as in_window, ${n(`adherence = 'late'`)} as late, ${n(`adherence = 'missed'`)} as missed
  from judged where said <> 'superseded' group by 1) c join visit_windows w on w.id = c.visit_window_id`;

const modules = `with metrics as (
  select t.task, m.key, (m.value)::text::float8 as value from session_tasks t cross join lateral jsonb_each(t.summary) m where t.study_id = $1 and jsonb_typeof(m.value) = 'number'
), distributions as (
  select task, key, jsonb_build_object('n', count(*), 'mean', avg(value), 'sd', stddev_samp(value), 'median', percentile_cont(0.5) within group (order by value),
    'p25', percentile_cont(0.25) within group (order by value), 'p75', percentile_cont(0.75) within group (order by value), 'min', min(value), 'max', max(value)) as distribution from metrics group by 1, 2)
select jsonb_build_object('by_task', jsonb_agg(jsonb_build_object('task', s.task, 'sessions', s.sessions, 'metrics', d.metrics) order by s.task)) as answer
from (select task, count(*) as sessions from session_tasks where study_id = $1 group by 1) s join (select task, jsonb_object_agg(key, distribution) as metrics from distributions group by 1) d using (task)`;

const sites = `with ${JUDGED}
select jsonb_build_object('items', jsonb_agg(jsonb_build_object('site_code', p.site_code, 'participants', p.participants, 'sessions', coalesce(s.sessions, 0), 'visits_completed', coalesce(v.completed, 0), 'visits_missed', coalesce(v.missed, 0)) order by p.site_code nulls last)) as answer
from (select s.site_code, count(*) as participants from participants p left join sites s on s.id = p.site_id where p.study_id = $1 group by 1) p
left join (select s.site_code, count(*) as sessions from assessment_sessions x join participants p on p.id = x.participant_id left join sites s on s.id = p.site_id where x.study_id = $1 group by 1) s on s.site_code is not distinct from p.site_code
left join (select site_code, ${n(`said = 'completed'`)} as completed, ${n(`said = 'missed'`)} as missed from judged group by 1) v on v.site_code is not distinct from p.site_code`;

/** A page of fifty, by target date, and how many there are. */
const visits = `with ${JUDGED}, page as (select * from judged where said <> 'superseded' order by target_date, id limit 50)
select jsonb_build_object('total', (select count(*) from scheduled_visits where study_id = $1 and status <> 'superseded'),
  'items', (select jsonb_agg(jsonb_build_object('id', j.id, 'status', j.said, 'adherence', j.adherence, 'days_off_target', j.off, 'participant_code', j.participant_code, 'site_code', j.site_code, 'window_code', w.code) order by j.target_date, j.id)
    from page j left join visit_windows w on w.id = j.visit_window_id)) as answer`;

const totals = `select jsonb_build_object('studies', 1, 'participants', (select count(*) from participants where study_id = $1), 'sessions', (select count(*) from assessment_sessions where study_id = $1),
  'visits', (select count(*) from scheduled_visits where study_id = $1)) as answer`;

/** All of one participant's; `$1` is the participant. */
const participant = `with ${JUDGED.replace('v.study_id = $1', 'v.participant_id = $1')}, tasks as (
  select x.id, x.started_at, t.task, t.summary, t.trial_count from assessment_sessions x join session_tasks t on t.session_id = x.id where x.participant_id = $1)
select jsonb_build_object(
  'identity', (select to_jsonb(i) from (select p.id, p.study_id, p.participant_code, p.external_id, s.site_code, p.arm, p.status, p.preferred_language, p.enrollment_date, p.withdrawn_at, p.created_at
    from participants p left join sites s on s.id = p.site_id where p.id = $1) i),
  'anchor', (select to_jsonb(a) from (select participant_id, enrollment_date_value as enrollment_date, enrollment_datetime_value as enrollment_datetime, precision, partial_value, timezone, status, source_type, source_ref,
    is_override, override_reason, version, current_schedule_version_id, created_at, updated_at from anchor_dates where participant_id = $1) a),
  'schedule', (select to_jsonb(c) from (select id, version_number, is_current, anchor_date_used, anchor_version, scheduling_mode, status, visits_generated, generation_warnings, generated_at
    from schedule_versions where participant_id = $1 and is_current) c),
  'visits', (select jsonb_agg(to_jsonb(o) order by o.target_date, o.id) from (select j.id, j.participant_id, j.participant_code, j.site_code, j.arm, w.code as window_code, j.name, j.target_date, j.window_open, j.window_close,
    j.said as status, j.completed_at, j.adherence, j.off as days_off_target from judged j left join visit_windows w on w.id = j.visit_window_id where j.said <> 'superseded') o),
  'sessions', (select jsonb_agg(to_jsonb(o) order by o.started_at, o.id) from (select x.id, x.visit_id, x.battery_id, x.battery_version, x.language, ${SESSION} as status, x.source, x.started_at, x.completed_at,
    coalesce(k.task_summaries, '{}') as task_summaries, coalesce(k.trial_count, 0) as trial_count from assessment_sessions x
    left join (select id, jsonb_object_agg(task, summary) as task_summaries, sum(trial_count) as trial_count from tasks group by 1) k using (id) where x.participant_id = $1) o),
  'metrics', (select jsonb_agg(jsonb_build_object('task', task, 'metric', key, 'points', points) order by task, key) from (
    select task, m.key, jsonb_agg(jsonb_build_object('session_id', id, 'at', started_at, 'value', m.value) order by started_at, id) as points
    from tasks cross join lateral jsonb_each(summary) m where jsonb_typeof(m.value) = 'number' group by 1, 2) c)) as answer`;

export const reportSql = { summary, enrollment, completion, modules, sites, visits, totals, participant } as const;
export type ReportName = keyof typeof reportSql;
