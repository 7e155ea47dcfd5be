import { visitStatus } from '../scheduling/effective-status.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';
import { between, isOfEverybody, narrowed } from './base.queries.js';
import type { ReportScope } from './base.queries.js';

/*
 * Counts visits by status and adherence without classifying each of them. A visit's class is mostly the same in every
 * time zone: no participant is more than a day off UTC, and a study's zones are closer together. So the visits are
 * scanned once and grouped by a key; those near the edge of a day are separate groups with their deciding facts, and
 * only their participants are looked up. Of a hundred visits that leaves a few. The result equals `judged` of
 * base.queries.ts for the same visits.
 */

/** The date in UTC, some days later; the participant's own is that one, the one before or the one after. */
const utc = (days: number): string => `(select (now() at time zone 'UTC')::date + ${days})`;
const SHIFT = 'coalesce(v.reporting_target_date - v.target_date, 0)';

/**
 * The range of UTC offsets of the study's zones since the year 2000: sampled week by week, since no clock changes twice
 * in one, with a margin of a minute for fractions.
 */
const SINCE = `timestamptz '2000-01-01 00:00:00+00'`;
const OFFSETS = `offsets as materialized (
    select min(o) - interval '1 minute' as west, max(o) + interval '1 minute' as east from (
      select (at at time zone zone) - (at at time zone 'UTC') as o
      from (select timezone as zone from studies where id = :study union select timezone from sites
        where study_id = :study and timezone is not null) z,
        generate_series(${SINCE}, now() + interval '1 week', interval '1 week') at) x)`;
/** When a visit was completed, on the westernmost and on the easternmost calendar: an offset needs no look at zones. */
const WEST = '(v.completed_at at time zone (select west from offsets))',
  EAST = '(v.completed_at at time zone (select east from offsets))';
const OPENED = `v.window_open + ${SHIFT}`,
  CLOSED = `v.window_close + (${SHIFT} + 1)`;

const IN_DOUBT = `row(v.participant_id, v.status, v.window_open, v.window_close, v.completed_at,
  ${SHIFT})::visit_in_doubt::text`;

/**
 * A visit's class: adherence if completed, else its status. Where the participant's time zone matters, the deciding
 * facts as text in brackets: grouping by text takes two thirds of the time of grouping by rows. Exactly the completed
 * have a time of completion, which is compared sooner than a word.
 */
const fate = (completed: string): string => `case when v.completed_at is not null then ${completed} else case v.status
    when 'scheduled' then case when v.window_open > ${utc(1)} then 'scheduled' when v.window_close < ${utc(-1)}
      then 'missed' else ${IN_DOUBT} end
    when 'open' then case when v.window_close > ${utc(0)} then 'open' when v.window_close < ${utc(-1)}
      then 'missed' else ${IN_DOUBT} end
    else v.status end end`;
/** The class of a completed visit. */
const ADHERENCE = `case
      when v.completed_at < ${SINCE} then ${IN_DOUBT}
      when ${WEST} >= ${OPENED} and ${EAST} < ${CLOSED} then 'in_window'
      when ${EAST} < ${OPENED} then 'early' when ${WEST} >= ${CLOSED} then 'late' else ${IN_DOUBT} end`;
const IS_IN_DOUBT = `f.fate like '(%'`;
const IS_COMPLETED = `f.fate in ('early', 'in_window', 'late')`;

interface Tally {
  /** Further grouping, besides status and adherence. */
  by?: readonly ('window' | 'site')[];
  /** Only visits that may be completed or missed, by status alone, without adherence. */
  ended?: boolean;
  /** By `portion` as well: the SQL of the portion of a participant's id. */
  portion?: (participant: string) => string;
  /** Only these portions. */
  of?: readonly number[] | undefined;
}

/**
 * The part `tallied` of a report's statement: `n` visits of a `status` and `adherence`; by window with
 * `visit_window_id` and `event_definition_id`, by site with `site_code`. If the caller may see everyone, participants
 * are looked up for uncertain visits only. That is asked beforehand: a condition of the statement, even one that is
 * evaluated once, takes each of the rows through one step more, a seventh of the time.
 */
export async function tallied(
  tx: Tx,
  asked: ReportScope,
  { by = [], ended = false, portion, of }: Tally = {},
): Promise<string> {
  const window = by.includes('window') ? 'visit_window_id, event_definition_id, ' : '',
    site = by.includes('site') ? 'site_id, ' : '',
    part = portion ? 'portion, ' : '';
  const portionColumn = portion ? `${portion('v.participant_id')} as portion, ` : '';
  const groups = [...(window ? ['1', '2'] : []), ...(site ? ['site_id'] : []), ...(portion ? ['portion'] : []), 'fate'];
  const fates = (from: string) => `
    select ${window}${site}${portionColumn}${fate(ended ? `'completed'` : ADHERENCE)} as fate, count(*) as n
    from ${from}
    where v.study_id = :study ${between('v.target_date', asked)}
      ${ended ? `and (v.status in ('completed', 'missed') or v.window_close <= ${utc(0)})` : ''}
    group by ${groups.join(', ')}`;
  const ofPeople = () =>
    fates(
      `scheduled_visits v join (select p.id, p.site_id from participants p left join sites s on s.id = p.site_id
        where p.study_id = :study ${narrowed(asked)}) p on p.id = v.participant_id`,
    );
  // By the index of participants, however many the planner takes them for: few portions are asked for at a time.
  const ofPortions = (portions: readonly number[]) =>
    fates(
      `participants p cross join lateral (select * from scheduled_visits o
        where o.participant_id = p.id and p.study_id = :study
        and ${portion!('p.id')} in (${portions.join(', ')}) offset 0) v`,
    );
  const all =
    portion && of
      ? ofPortions(of)
      : isOfEverybody(asked) && !site && (await seesEveryone(tx))
        ? fates('scheduled_visits v')
        : ofPeople();
  const keys = `${window}${part}${site ? 's.site_code, ' : ''}`,
    withSite = site ? 'left join sites s on s.id = f.site_id' : '';
  return `${OFFSETS}, fates as (${all}
  ), tallied as (
    select ${keys}case when ${IS_COMPLETED} then 'completed' else f.fate end as status,
      case when ${IS_COMPLETED} then f.fate when f.fate <> 'completed'
        then visit_adherence(f.fate, null, null, null, null) end as adherence, f.n
    from fates f ${withSite} where not ${IS_IN_DOUBT}
    union all
    select ${keys}o.status, visit_adherence(o.status, f.completed_at, f.window_open + f.shift, f.window_close + f.shift,
      z.zone), f.n
    from (select f.*, (f.visit).* from (select f.*, f.fate::visit_in_doubt as visit from fates f
      where ${IS_IN_DOUBT} offset 0) f) f
    join participants p on p.id = f.participant_id join studies y on y.id = p.study_id
      left join sites w on w.id = p.site_id ${withSite}
    cross join lateral (select coalesce(w.timezone, y.timezone) as zone) z
    cross join lateral (select ${visitStatus('f', '(now() at time zone z.zone)::date', 'p.status')} as status) o
  )`;
}

const seesEveryone = async (tx: Tx): Promise<boolean> =>
  (await query<{ all: boolean }>(tx, 'select app_all_sites() as all'))[0]!.all;
