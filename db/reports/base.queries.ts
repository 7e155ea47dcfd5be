import { reportingShift, sessionStatus, visitStatus } from '../scheduling/effective-status.js';
import { queryAll } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * The filters of a report. Dates are inclusive: the enrollment date of participants, the start of sessions (UTC), the
 * target date of visits.
 */
export interface ReportFilter {
  from?: string | undefined;
  to?: string | undefined;
  site_code?: string | undefined;
  arm?: string | undefined;
}

/**
 * The scope of a report: one study, or (null) every study that the transaction sees; or one participant. `paged`: only
 * the visits of `page`.
 */
export interface ReportScope extends ReportFilter {
  study: string | null;
  participant?: string | undefined;
  paged?: boolean;
}

/** The participants `p` with sites `s` that match a filter. */
export const narrowed = ({ site_code, arm }: ReportScope): string =>
  `${site_code === undefined ? '' : 'and s.site_code = :site_code'} ${arm === undefined ? '' : 'and p.arm = :arm'}`;

const inStudy = (asked: ReportScope, date: string): string =>
  `${asked.study ? 't.study_id = :study' : 'true'} ${between(date, asked)}`;
const ofPeople = (asked: ReportScope): string =>
  `t.participant_id in (select p.id from participants p left join sites s on s.id = p.site_id
    where true ${asked.study ? 'and p.study_id = :study' : ''} ${narrowed(asked)})`;
/** No filter on participants. */
export const isOfEverybody = ({ site_code, arm }: ReportScope): boolean => site_code === undefined && arm === undefined;

/** No filter besides the caller's rights. */
export const isUnfiltered = (asked: ReportScope): boolean =>
  isOfEverybody(asked) && asked.from === undefined && asked.to === undefined;

/**
 * Rows of a table with alias `t` that are only counted: without a filter, and for a caller without site restriction, no
 * participant needs to be looked up.
 */
export const countNumber = (asked: ReportScope, date: string): string =>
  `${inStudy(asked, date)} and (${isOfEverybody(asked) ? '(select app_all_sites()) or' : ''} ${ofPeople(asked)})`;

/**
 * Their number, with condition `which`; checking for each row whether all may be counted would take as long as
 * counting.
 */
export function numberOf(table: string, asked: ReportScope, date: string, which = ''): string {
  const count = (more: string) => `(select count(*) from ${table} t where ${inStudy(asked, date)} ${which} ${more})`;
  const reached = count(`and ${ofPeople(asked)}`);
  return isOfEverybody(asked) ? `case when app_all_sites() then ${count('')} else ${reached} end` : reached;
}

/** A report's visits by their rows; superseded ones are left out, since another row replaces each. */
export const listed = (asked: ReportScope): string =>
  `scheduled_visits t where ${countNumber(asked, 't.target_date')} and t.status <> 'superseded'`;

/** A page of them: nothing is computed for others. */
const page = (asked: ReportScope): string =>
  `page as materialized (select t.id, t.participant_id from ${listed(asked)} order by t.target_date, t.id offset :skip
    limit :limit)`;

/**
 * The participants of a report, with their local date; every other row is joined through them, so that isolation by
 * site holds. Materialized: the local date is computed once for each person, not for each visit.
 */
const people = (asked: ReportScope): string => `people as materialized (
  select p.id, p.study_id, p.participant_code, p.site_id, s.site_code, p.status, p.arm, p.enrollment_date, z.zone,
    (now() at time zone z.zone)::date as today
  from participants p join studies y on y.id = p.study_id left join sites s on s.id = p.site_id
  cross join lateral (select coalesce(s.timezone, y.timezone) as zone) z
  where true ${asked.study ? 'and p.study_id = :study' : ''} ${asked.participant ? 'and p.id = :participant' : ''}
    ${asked.paged ? 'and p.id in (select participant_id from page)' : ''} ${narrowed(asked)})`;

/** The date range of a filter. */
export const between = (value: string, { from, to }: ReportFilter): string =>
  `${from === undefined ? '' : `and ${value} >= :from::date`} ` +
  `${to === undefined ? '' : `and ${value} < :to::date + 1`}`;

/** Participants whose enrollment date matches the filter; without dates, all. Counting them needs no time zone. */
const enrolled = (asked: ReportScope): string => `enrolled as (
  select p.id, p.study_id, p.site_id, s.site_code, p.status, p.enrollment_date from participants p
    left join sites s on s.id = p.site_id
  where true ${asked.study ? 'and p.study_id = :study' : ''} ${narrowed(asked)}
    ${between('p.enrollment_date', asked)})`;

/**
 * Visits as a report classifies them, status included, so that all counts agree (see effective-status.ts). `due`:
 * completed, or the window has closed in the participant's time zone. A completed visit whose reporting target was
 * moved is compared with that target.
 */
const judged = (asked: ReportScope): string => `judged as (
  select v.id, v.participant_id, v.visit_window_id, v.event_definition_id, v.name, v.target_date, v.window_open,
    v.window_close, o.status, v.completed_at, p.participant_code, p.site_code, p.arm,
    visit_adherence(o.status, v.completed_at, v.window_open + o.shift, v.window_close + o.shift, p.zone) as adherence,
    (v.completed_at at time zone p.zone)::date - v.target_date - o.shift as days_off_target
  from scheduled_visits v join people p on p.id = v.participant_id
  cross join lateral (select ${visitStatus('v', 'p.today', 'p.status')} as status, ${reportingShift('v')} as shift) o
  where true ${asked.study ? 'and v.study_id = :study' : ''}
    ${asked.participant ? 'and v.participant_id = :participant' : ''}
    ${asked.paged ? 'and v.id in (select id from page)' : ''} ${between('v.target_date', asked)})`;

const sessions = (asked: ReportScope): string => `sessions as (
  select x.id, x.participant_id, p.site_code, x.started_at, ${sessionStatus('x')} as status
  from assessment_sessions x join people p on p.id = x.participant_id
  where true ${asked.study ? 'and x.study_id = :study' : ''}
    ${asked.participant ? 'and x.participant_id = :participant' : ''} ${between('x.started_at', asked)})`;

const parts = { people, enrolled, judged, sessions, page };

type Values = Record<string, string | number>;
type Part = keyof typeof parts;

function textOf(
  asked: ReportScope,
  names: readonly Part[],
  select: string,
  more: Values,
): { text: string; given: Values } {
  const { study, participant, from, to, site_code, arm } = asked;
  const given = Object.fromEntries(
    Object.entries({ study, participant, from, to, site_code, arm, ...more }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  ) as Values;
  return {
    text: `${names.length > 0 ? 'with' : ''} ${names.map((name) => parts[name](asked)).join(', ')} ${select}`,
    given,
  };
}

/** Runs one statement over the named parts: all counts of a report have one snapshot. */
export async function ask<Row>(
  tx: Tx,
  asked: ReportScope,
  names: readonly Part[],
  select: string,
  more: Values = {},
): Promise<Row[]> {
  const { sql, values } = question(asked, names, select, more);
  return query<Row>(tx, sql, values);
}

/** `ask` for all visits of a study, with one parallel worker. */
export async function askOfAll<Row extends object>(
  tx: Tx,
  asked: ReportScope,
  names: readonly Part[],
  select: string,
  more: Values = {},
): Promise<Row[]> {
  const [rows] = await queryAll<[Row]>(tx, [{ ...question(asked, names, select, more), customPlan: true }]);
  return rows;
}

/**
 * `ask` as a statement that each connection plans once (query.ts): for one participant's rows and for counts without a
 * filter. A query over a whole study is better planned for its actual dates.
 */
export function question(asked: ReportScope, names: readonly Part[], select: string, more: Values = {}): Statement {
  const { text, given } = textOf(asked, names, select, more);
  const places = new Map<string, string>();
  const values: (string | number)[] = [];
  const sql = text.replaceAll(/(?<!:):([a-z_]+)/g, (whole, name: string) => {
    const value = given[name];
    if (value === undefined) return whole;
    if (!places.has(name)) places.set(name, `$${values.push(value)}`);
    return places.get(name)!;
  });
  return { sql, values };
}

/** Whether a judged visit is due, as SQL. */
export const DUE = `adherence in ('early', 'in_window', 'late', 'missed')`;
