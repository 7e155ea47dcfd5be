import { PLAUSIBLE_LIMIT_SQL, sessionStatus, taskSummary } from '../scheduling/effective-status.js';
import { queryAll } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { DUE, ask, askOfAll, countNumber, isUnfiltered, numberOf, question } from './base.queries.js';
import type { ReportScope } from './base.queries.js';
import { tallied } from './tally.queries.js';
import type { Tx } from '../client/database.js';

export interface Totals {
  studies: number;
  participants: number;
  sessions: number;
  visits: number;
}

/** Totals of all studies that the transaction sees, or of one: one row. */
export function totals(asked: ReportScope): Statement {
  const sessions = numberOf('assessment_sessions', asked, 't.started_at'),
    visits = numberOf('scheduled_visits', asked, 't.target_date');
  const counts = (participants: string, sessions: string, visits: string) =>
    `select (select count(*) from studies ${asked.study ? 'where id = :study' : ''}) as studies,
      ${participants} as participants, ${sessions} as sessions, ${visits} as visits`;
  // With dates it is planned for their values.
  if (!isUnfiltered(asked))
    return {
      ...question(asked, ['enrolled'], counts('(select count(*) from enrolled)', sessions, visits)),
      customPlan: true,
    };
  // Planning takes a tenth of its time. No sites are looked up: row-level security already hides participants of other
  // sites.
  const people = `(select count(*) from participants ${asked.study ? 'where study_id = :study' : ''})`;
  if (!asked.study) return question(asked, [], counts(people, sessions, visits));
  const known = counts(
    `coalesce(k.participants, ${people})`,
    `coalesce(k.sessions, ${sessions})`,
    `coalesce(k.visits, ${visits})`,
  );
  return question(asked, [], `${known} from (select 1) one left join study_size(:study) k on true`);
}

export interface StudySummary {
  participants: { total: number; enrolled: number; withdrawn: number };
  sessions: { total: number; completed: number; expired: number };
  visits: {
    total: number;
    scheduled: number;
    open: number;
    completed: number;
    missed: number;
    superseded: number;
    cancelled: number;
  };
  anchors: { unset: number; provisional: number; finalized: number; overridden: number };
  adherence: { due: number; completed_in_window: number; rate: number | null };
}

const countOf = (word: string) => `'${word}', count(*) filter (where status = '${word}')`;
const sumOf = (condition?: string) =>
  `coalesce(sum(n)${condition === undefined ? '' : ` filter (where ${condition})`}, 0)`;
const VISITS = ['scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'];

/** A study's visits, counted before, by window, status and adherence: JSON of `tallied`. */
export type KeptTally = string;
const KEPT = `tallied as (
    select * from jsonb_to_recordset(:tally::jsonb) as t(visit_window_id uuid, event_definition_id uuid, status text,
      adherence text, n bigint))`;

/**
 * Statuses and adherence both use the current date (see base.queries.ts). Without dates, anchors are counted like
 * sessions: participants are looked up only if the caller sees a part of the study.
 */
export async function studySummary(tx: Tx, asked: ReportScope, tally?: KeptTally): Promise<StudySummary> {
  const anchors =
    asked.from === undefined && asked.to === undefined
      ? `anchor_dates t where ${countNumber(asked, '')}`
      : 'anchor_dates t join enrolled e on e.id = t.participant_id';
  const [row] = await askOfAll<StudySummary>(
    tx,
    asked,
    ['enrolled'],
    `, ${tally === undefined ? await tallied(tx, asked) : KEPT}
    select p.participants, s.sessions, v.visits, a.anchors, v.adherence
    from (select jsonb_build_object('total', count(*), ${countOf('enrolled')}, ${countOf('withdrawn')}) as participants
      from enrolled) p,
      (select jsonb_build_object('total', count(*), ${countOf('completed')}, ${countOf('expired')}) as sessions
        from (select ${sessionStatus('t')} as status from assessment_sessions t
          where ${countNumber(asked, 't.started_at')}) x) s,
      (select jsonb_build_object('total', ${sumOf()},
        ${VISITS.map((word) => `'${word}', ${sumOf(`status = '${word}'`)}`).join(', ')}) as visits,
        jsonb_build_object('due', ${sumOf(DUE)}, 'completed_in_window', ${sumOf(`adherence = 'in_window'`)},
          'rate', (${sumOf(`adherence = 'in_window'`)})::float8 / nullif(${sumOf(DUE)}, 0)) as adherence
            from tallied) v,
      (select jsonb_build_object('unset', count(*) filter (where t.status = 'unset'), 'provisional',
        count(*) filter (where t.status = 'provisional'),
        'finalized', count(*) filter (where t.status = 'finalized'), 'overridden',
          count(*) filter (where t.is_override)) as anchors from ${anchors}) a`,
    tally === undefined ? {} : { tally },
  );
  return row!;
}

export interface EnrollmentCurve {
  total: number;
  without_date: number;
  by_month: { month: string; enrolled: number; cumulative: number }[];
  by_site: { site_code: string | null; enrolled: number }[];
}

/**
 * `total` counts all participants; those without a date are in `without_date` and in no month. Months without anyone
 * are included. The participants are scanned once, grouped by day and site.
 */
export async function enrollment(tx: Tx, asked: ReportScope): Promise<EnrollmentCurve> {
  const names = ['enrolled'] as const;
  const select = `, days as materialized (
      select enrollment_date as day, site_id, count(*)::integer as enrolled from enrolled group by enrollment_date,
        site_id
    ), counted as (
      select date_trunc('month', day::timestamp)::date as month, sum(enrolled)::integer as enrolled from days
        where day is not null group by 1
    ), months as (
      select m::date as month, coalesce(c.enrolled, 0) as enrolled,
        sum(coalesce(c.enrolled, 0)) over (order by m)::integer as cumulative
      from (select min(month)::timestamp as first, max(month)::timestamp as last from counted) r,
        generate_series(r.first, r.last, interval '1 month') m left join counted c on c.month = m::date
    )
    select coalesce(sum(enrolled), 0)::integer as total, coalesce(sum(enrolled) filter (where day is null),
      0)::integer as without_date,
      coalesce((select jsonb_agg(jsonb_build_object('month', to_char(month, 'YYYY-MM'), 'enrolled', enrolled,
        'cumulative', cumulative) order by month) from months), '[]') as by_month,
      coalesce((select jsonb_agg(jsonb_build_object('site_code', site_code, 'enrolled', enrolled)
        order by site_code nulls last)
        from (select s.site_code, sum(d.enrolled)::integer as enrolled from days d left join sites s on s.id = d.site_id
          group by s.site_code) s), '[]') as by_site
    from days`;
  // A quarter of its time is planning; with a filter it is planned for its values.
  const [row] = isUnfiltered(asked)
    ? (await queryAll<[EnrollmentCurve]>(tx, [question(asked, names, select)]))[0]
    : await ask<EnrollmentCurve>(tx, asked, names, select);
  return row!;
}

export interface WindowCompletion {
  code: string | null;
  name: string;
  due: number;
  completed: number;
  in_window: number;
  late: number;
  missed: number;
  rate: number | null;
}

/**
 * Each window of the plan, in order, also one without due visits; events of the mode `edc` likewise. Visits without one
 * (unscheduled, or of a deleted window) come last, with code null.
 */
export async function completion(tx: Tx, asked: ReportScope, tally?: KeptTally): Promise<WindowCompletion[]> {
  return askOfAll<WindowCompletion>(
    tx,
    asked,
    [],
    `with ${tally === undefined ? await tallied(tx, asked, { by: ['window'] }) : KEPT}, counted as (
      select visit_window_id, event_definition_id, ${sumOf(DUE)}::integer as due,
        ${sumOf(`status = 'completed'`)}::integer as completed,
        ${sumOf(`adherence = 'in_window'`)}::integer as in_window, ${sumOf(`adherence = 'late'`)}::integer as late,
          ${sumOf(`adherence = 'missed'`)}::integer as missed
      from tallied where status <> 'superseded' group by 1, 2
    ), named as (
      select 0 as kind, w.id, w.code, w.name, w.sort_order, w.target_day from visit_windows w where w.study_id = :study
      union all select 1, e.id, e.event_oid, e.name, e.sort_order, e.target_day from event_definitions e
        where e.study_id = :study
    ), rows as (
      select n.kind, n.code, n.name, n.sort_order, n.target_day, c.due, c.completed, c.in_window, c.late, c.missed
      from named n left join counted c on (n.kind = 0 and c.visit_window_id = n.id)
        or (n.kind = 1 and c.event_definition_id = n.id)
      union all select 2, null, 'Other visits', 0, 0, sum(due)::integer, sum(completed)::integer,
        sum(in_window)::integer, sum(late)::integer, sum(missed)::integer
      from counted where visit_window_id is null and event_definition_id is null having count(*) > 0
    )
    select code, name, coalesce(due, 0) as due, coalesce(completed, 0) as completed,
      coalesce(in_window, 0) as in_window, coalesce(late, 0) as late, coalesce(missed, 0) as missed,
      completed::float8 / nullif(due, 0) as rate
    from rows order by kind, sort_order, target_day, code`,
    tally === undefined ? {} : { tally },
  );
}

export interface Distribution {
  n: number;
  /** Values that are excluded from all other figures. */
  excluded: number;
  mean: number | null;
  sd: number | null;
  median: number | null;
  p25: number | null;
  p75: number | null;
  min: number | null;
  max: number | null;
}
export interface TaskReport {
  task: string;
  sessions: number;
  metrics: Record<string, Distribution>;
}

/** Sessions that the resolution of a sync conflict has set aside: they are kept, and do not count. */
const SET_ASIDE = `select t.id from sync_conflicts c join assessment_sessions t on t.id = c.session_id
  where c.study_id = :study and c.keep = 'server' and c.resolution = 'both_kept' and t.status = 'abandoned'`;

/**
 * Tasks of the counted sessions; if those are all of the study, no session is looked up. Two branches, of which one
 * runs: with `or` between them a study of very many sessions would look them up task by task.
 */
function tasksOf(asked: ReportScope): string {
  const tasks = `select k.task, ${taskSummary('k')} as summary from session_tasks k
    where k.study_id = :study and k.session_id not in (${SET_ASIDE})`;
  const ofSessions = `k.session_id in (select t.id from assessment_sessions t
    where ${countNumber(asked, 't.started_at')})`;
  return isUnfiltered(asked)
    ? `${tasks} and (select app_all_sites()) union all ${tasks} and not (select app_all_sites()) and ${ofSessions}`
    : `${tasks} and ${ofSessions}`;
}

/**
 * 0 for results far smaller than their inputs: rounding residue of floating-point sums. Compared as decimals, which
 * have no smallest number.
 */
const exact = (sum: string): string =>
  `case when abs(${sum})::numeric < 1e-12 * max(abs(value))::numeric then 0 else ${sum} end`;

/**
 * The summary values of each task by metric; `sd` is the sample's, null for a single value. The tasks are not
 * materialized: storing 4 MB of summaries takes longer than reading their names again by an index.
 */
export function modules(tx: Tx, asked: ReportScope): Promise<TaskReport[]> {
  return ask<TaskReport>(
    tx,
    asked,
    [],
    `with tasks as not materialized (${tasksOf(asked)}
    ), metrics as (
      select t.task, m.key as metric, case when abs(m.value::numeric) <= ${PLAUSIBLE_LIMIT_SQL}
        then m.value::float8 end as value from tasks t cross join lateral jsonb_each(t.summary) m
        where jsonb_typeof(m.value) = 'number'
    ), distributions as (
      select task, metric, jsonb_build_object('n', count(value), 'excluded', count(*) - count(value), 'mean',
        ${exact('avg(value)')}, 'sd', ${exact('stddev_samp(value)')},
        'median', percentile_cont(0.5) within group (order by value), 'p25',
          percentile_cont(0.25) within group (order by value),
        'p75', percentile_cont(0.75) within group (order by value), 'min', min(value), 'max',
          max(value)) as distribution
      from metrics group by task, metric
    )
    select s.task, s.sessions, coalesce(d.metrics, '{}') as metrics
    from (select task, count(*)::integer as sessions from tasks group by task) s
    left join (select task, jsonb_object_agg(metric, distribution) as metrics from distributions group by task) d
      on d.task = s.task order by s.task`,
  );
}

export interface SiteReport {
  site_code: string | null;
  participants: number;
  sessions: number;
  visits_completed: number;
  visits_missed: number;
}

/**
 * Every visible site of the study, also an empty one; participants without a site under null. Sessions and visits count
 * for the participant's site.
 */
export async function sites(tx: Tx, asked: ReportScope): Promise<SiteReport[]> {
  return askOfAll<SiteReport>(
    tx,
    asked,
    ['people', 'enrolled', 'sessions'],
    `, ${await tallied(tx, asked, { by: ['site'], ended: true })}, counted as (
      select site_code, sum(participants)::integer as participants, sum(sessions)::integer as sessions,
        sum(completed)::integer as visits_completed, sum(missed)::integer as visits_missed from (
        select site_code, count(*) as participants, 0 as sessions, 0 as completed, 0 as missed from enrolled
          group by site_code
        union all select site_code, 0, count(*), 0, 0 from sessions group by site_code
        union all select site_code, 0, 0, ${sumOf(`status = 'completed'`)}, ${sumOf(`status = 'missed'`)} from tallied
          group by site_code
        union all select site_code, 0, 0, 0, 0 from sites
          where study_id = :study and (app_all_sites() or study_id <> all (app_site_studies())
          or id = any (app_sites())) ${asked.site_code === undefined ? '' : 'and site_code = :site_code'}
      ) each group by site_code)
    select * from counted order by site_code nulls last`,
  );
}
