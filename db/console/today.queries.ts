import { LATELY_DAYS, SOON_DAYS } from '../notifications/daily-summary.queries.js';
import { hasEnded } from '../studies/study-ended.js';
import { byHandStatement } from '../notifications/by-hand.queries.js';
import type { ByHandRow } from '../notifications/by-hand.queries.js';
import { query, queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** Groups of an open visit on a day. A visit may be in several. */
export const DAY_GROUPS = ['in_window', 'opening', 'closing', 'closed'] as const;
export type DayGroup = (typeof DAY_GROUPS)[number];

export interface DayVisit {
  id: string;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  participant_id: string;
  participant_code: string;
  study_id: string;
  study_code: string;
  site_code: string | null;
  /** The time zone of its days, and the date there. */
  zone: string;
  today: string;
}
/** The number of visits of each group at a place. */
export type DayFacet = Record<DayGroup, number> & {
  study_id: string;
  study_code: string;
  site_id: string | null;
  site_code: string | null;
};

const IS: Record<DayGroup, string> = {
  in_window: 'd.window_close >= d.today',
  opening: 'd.window_open = d.today',
  closing: `d.window_close between d.today and d.today + ${SOON_DAYS}`,
  closed: 'd.window_close < d.today',
};
const ORDER: Record<DayGroup, string> = {
  in_window: 'd.window_close, d.participant_code, d.name, d.id',
  opening: 'd.participant_code, d.name, d.id',
  closing: 'd.window_close, d.participant_code, d.name, d.id',
  closed: 'd.window_close desc, d.participant_code, d.name, d.id',
};

/** As a query of its own it is evaluated once, not for each visit. */
const UTC_DAY = `(select coalesce($1::date, (now() at time zone 'UTC')::date))`;

/*
 * Open visits of enrolled participants, in studies that go on, whose window has begun, on a day or today; each in the
 * time zone of its site or study. That is never more than a day off UTC: the bounds let the indexes find them, the
 * local date decides.
 */
const DUE = `due as materialized (
  select v.id, v.name, v.target_date, v.window_open, v.window_close, p.id as participant_id, p.participant_code,
    y.id as study_id, y.study_code,
    w.id as site_id, w.site_code, z.zone, z.today
  from scheduled_visits v join participants p on p.id = v.participant_id join studies y on y.id = v.study_id
    left join sites w on w.id = p.site_id
  cross join lateral (select coalesce(w.timezone, y.timezone) as zone,
    coalesce($1::date, (now() at time zone coalesce(w.timezone, y.timezone))::date) as today) z
  where p.status = 'enrolled' and not ${hasEnded('y')}
    and v.window_close >= ${UTC_DAY} - ${LATELY_DAYS + 1}
    and ((v.status = 'open' and v.window_close >= ${UTC_DAY} - ${LATELY_DAYS + 1})
      or (v.status = 'missed' and v.window_close >= ${UTC_DAY} - ${LATELY_DAYS + 1})
      or (v.status = 'scheduled' and v.window_open <= ${UTC_DAY} + 1))
    and v.window_open <= z.today and v.window_close >= z.today - ${LATELY_DAYS})`;

export interface DayFilter {
  /** Not set: today in the participant's time zone. */
  day?: string | undefined;
  studyId?: string | undefined;
  siteId?: string | undefined;
  skip: number;
  limit: number;
}

/** The visits of a group on a day, and the number of each group by study and site. One statement. */
export async function visitsOfDay(
  tx: Tx,
  group: DayGroup,
  { day, studyId, siteId, skip, limit }: DayFilter,
): Promise<{ items: DayVisit[]; facets: DayFacet[] }> {
  const rows = await query<{ items: DayVisit[]; facets: DayFacet[] }>(
    tx,
    `with ${DUE},
     page as (select d.* from due d where ${IS[group]} and ($2::uuid is null or d.study_id = $2)
       and ($3::uuid is null or d.site_id = $3)
       order by ${ORDER[group]} offset $4 limit $5),
     facets as (select d.study_id, d.study_code, d.site_id, d.site_code,
         ${DAY_GROUPS.map((one) => `count(*) filter (where ${IS[one]}) as ${one}`).join(', ')}
       from due d group by 1, 2, 3, 4)
     select coalesce((select jsonb_agg(to_jsonb(d) - 'site_id' order by ${ORDER[group]}) from page d), '[]') as items,
       coalesce((select jsonb_agg(to_jsonb(f) order by f.study_code, f.site_code) from facets f), '[]') as facets`,
    [day ?? null, studyId ?? null, siteId ?? null, skip, limit],
  );
  return rows[0]!;
}

/** The data of a visit's page besides the visit itself. */
export interface VisitSurroundings {
  study_code: string;
  /** The time zone of its days. */
  zone: string;
  withdrawn: boolean;
}
/** The data of a visit's page besides the visit, and the facts that a reminder depends on. */
export async function visitSurroundings(
  tx: Tx,
  visitId: string,
): Promise<(VisitSurroundings & { reminder: ByHandRow }) | undefined> {
  const [[surroundings], [reminder]] = await queryAll<[VisitSurroundings, ByHandRow]>(tx, [
    {
      sql: `select y.study_code, coalesce(w.timezone, y.timezone) as zone, p.status = 'withdrawn' as withdrawn
       from scheduled_visits v join participants p on p.id = v.participant_id join studies y on y.id = v.study_id
         left join sites w on w.id = p.site_id
      where v.id = $1`,
      values: [visitId],
    },
    byHandStatement(visitId),
  ]);
  return surroundings && { ...surroundings, reminder: reminder! };
}
