import type { Knex } from 'knex';
import { reportingShift, visitStatus } from './effective-status.js';
import { hasEnded } from '../studies/study-ended.js';
import { ScheduledVisit } from '../models/records.js';
import { visitSequence } from './visit-sequence.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { statusToday } from './visit-statuses.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

const COLUMNS = `v.id, v.visit_key, v.study_id, v.participant_id, p.participant_code, w.site_code, v.visit_window_id,
  v.schedule_version_id, v.name, v.battery_id, v.target_date,
  v.window_open, v.window_close, v.datacapture_event, v.is_baseline, z.status, v.status_reason, v.completed_at,
    v.session_id, v.data_sync_status, v.synced_at,
  v.anchor_reconciled, v.anchor_reconciled_at, v.needs_review, v.reporting_target_date, v.reviewed_at, v.reviewed_by_id,
    v.review_resolution, v.imported, v.imported_by, v.original_users, v.moved_from, v.changed_from,
  visit_adherence(z.status, v.completed_at, v.window_open + z.shift, v.window_close + z.shift, z.zone) as adherence,
  (v.completed_at at time zone z.zone)::date - v.target_date - z.shift as days_off_target, v.created_at, v.updated_at`;
// Visits are joined with their participant: isolation by site holds through it.
const FROM = 'scheduled_visits as v';
// The time zone for status and adherence, and by how many days a re-anchoring moved the reporting target.
const CALENDAR = `join studies y on y.id = v.study_id left join sites w on w.id = p.site_id
  cross join lateral (select coalesce(w.timezone, y.timezone) as zone, ${reportingShift('v')} as shift) c
  cross join lateral (select c.zone, c.shift,
    ${visitStatus('v', '(now() at time zone c.zone)::date', 'p.status')} as status) z`;

export type VisitRecord = ScheduledVisit & {
  participant_code: string;
  site_code: string | null;
  adherence: string | null;
  days_off_target: number | null;
};
/** A date range of visits, both ends inclusive. */
export interface DayRange {
  from?: string | undefined;
  to?: string | undefined;
}

export interface VisitFilter extends Page {
  studyId?: string | undefined;
  participantId?: string | undefined;
  status?: string | undefined;
  target?: DayRange;
  windowOpen?: DayRange;
  windowClose?: DayRange;
  siteCode?: string | undefined;
  participantCode?: string | undefined;
  needsReview?: boolean | undefined;
}
const SORTS = {
  target_date: 'v.target_date',
  window_open: 'v.window_open',
  window_close: 'v.window_close',
  status: 'z.status',
  participant_code: 'p.participant_code',
  site_code: 'w.site_code',
  name: 'v.name',
  created_at: 'v.created_at',
};
export const visitSorts = [
  'target_date',
  'window_open',
  'window_close',
  'status',
  'participant_code',
  'site_code',
  'name',
  'created_at',
] as const satisfies (keyof typeof SORTS)[];

const UTC = `(select (now() at time zone 'UTC')::date)`;
/** Stored rows whose window may open or close today, depending on where the participant is: at most a day off UTC. */
const OPENING = `v.status = 'scheduled' and v.window_open <= ${UTC} + 1 and v.window_close >= ${UTC} - 1`,
  CLOSING = `v.window_close between ${UTC} - 1 and ${UTC} and (v.status = 'open' or v.status = 'scheduled'
    and v.window_open <= ${UTC})`;
interface CalendarStatus {
  everywhere: string;
  somewhere: string;
  /** Those that have it everywhere come late by target date, and their condition does not say so. */
  late?: true;
}
/**
 * Stored rows that may have a status by the participant's local date: those that have it on every calendar, and those
 * for which the participant's time zone decides. The target date is within the window, and an index is ordered by it.
 */
const STORED: Record<string, CalendarStatus> = {
  scheduled: {
    everywhere: `v.status = 'scheduled' and v.window_open > ${UTC} + 1 and v.target_date > ${UTC} + 1`,
    somewhere: OPENING,
  },
  open: {
    everywhere: `v.status = 'open' and v.window_close > ${UTC}`,
    somewhere: `(${OPENING} or v.status = 'open' and v.window_close between ${UTC} - 1 and ${UTC})`,
    late: true,
  },
  missed: {
    everywhere: `(v.status = 'missed' or v.status in ('scheduled', 'open') and v.window_close < ${UTC} - 1)`,
    somewhere: `(${CLOSING})`,
  },
};
/** Isolation by site, where no participant is joined. */
const REACHED = `((select app_all_sites()) or exists (select from participants p where p.id = v.participant_id))`;

/** Conditions on the visits alone. */
const ofVisits = (filter: VisitFilter) => (q: Knex.QueryBuilder) => {
  if (filter.studyId) q.where('v.study_id', filter.studyId);
  if (filter.participantId) q.where('v.participant_id', filter.participantId);
  if (filter.status !== undefined && !(filter.status in STORED)) q.where('v.status', filter.status);
  for (const [column, days] of [
    ['v.target_date', filter.target],
    ['v.window_open', filter.windowOpen],
    ['v.window_close', filter.windowClose],
  ] as const) {
    if (days?.from) q.where(column, '>=', days.from);
    if (days?.to) q.where(column, '<=', days.to);
  }
  if (filter.needsReview !== undefined) q.where('v.needs_review', filter.needsReview);
};

/** Whether a filter is of a study and a status, and of nothing else. */
export const isOfStatus = (filter: VisitFilter): filter is VisitFilter & { studyId: string; status: string } => {
  const { studyId, status, skip: _skip, limit: _limit, sort: _sort, ...others } = filter;
  return (
    studyId !== undefined &&
    status !== undefined &&
    Object.values(others).every(
      (value) =>
        value === undefined || (typeof value === 'object' && value.from === undefined && value.to === undefined),
    )
  );
};

/**
 * Visits by target date. They are counted without their participants if no filter needs these and the caller may see
 * everyone. @param total how many there are, if that is known
 */
export function listVisits(tx: Tx, filter: VisitFilter, total?: number): Promise<Listed<VisitRecord>> {
  const stored = STORED[filter.status ?? ''];
  const visits = (which?: string) =>
    tx(FROM)
      .modify(ofVisits(filter))
      .modify((q) => {
        if (which) q.whereRaw(which);
      });
  const withPeople = (which?: string) =>
    visits(which)
      .join('participants as p', 'p.id', 'v.participant_id')
      .modify((q) => {
        if (filter.participantCode) q.where('p.participant_code', filter.participantCode);
        if (filter.siteCode) q.whereRaw('p.site_id in (select id from sites where site_code = ?)', [filter.siteCode]);
      });
  const judged = (which?: string) =>
    withPeople(which)
      .joinRaw(CALENDAR)
      .modify((q) => {
        if (stored) q.where('z.status', filter.status);
      });
  const ofPeople = filter.participantCode !== undefined || filter.siteCode !== undefined;
  const found = judged(stored && `(${stored.everywhere} or ${stored.somewhere})`);
  if (stored && !ofPeople && filter.participantId === undefined && BY_DATE.includes(filter.sort))
    found.whereIn('v.id', firstOf(tx, stored, visits, judged, filter));
  const number = (q: Knex.QueryBuilder) => q.count('*');
  const all = stored
    ? tx.select(tx.raw('? + ?', [number(visits(stored.everywhere)), number(judged(stored.somewhere))]))
    : number(visits());
  const reached = stored
    ? tx.select(tx.raw('? + ?', [number(withPeople(stored.everywhere)), number(judged(stored.somewhere))]))
    : number(withPeople());
  const known = total !== undefined && tx.select(tx.raw('?::bigint as count', [total]));
  const counted = tx.select(
    ofPeople
      ? tx.raw('? as count', [reached])
      : tx.raw('case when app_all_sites() then ? else ? end as count', [all, reached]),
  );
  return page(tx, found, COLUMNS, filter, SORTS, 'v.id', { counted: known || counted, filled: ['target_date'] });
}

const BY_DATE = ['target_date', '-target_date'];
/**
 * The ids among which a page's visits of a status by the calendar are. Participants are looked up only for
 * visits that have it somewhere. `offset` keeps the planner from going through the index by target date, where these
 * and open visits come after all that are over.
 */
function firstOf(
  tx: Tx,
  { everywhere, somewhere, late }: CalendarStatus,
  visits: (which: string) => Knex.QueryBuilder,
  judged: (which: string) => Knex.QueryBuilder,
  { sort, skip, limit }: Page,
): Knex.QueryBuilder {
  const order = sort.startsWith('-') ? 'desc' : 'asc';
  const first = (found: Knex.QueryBuilder, apart: boolean) =>
    tx
      .select('id')
      .from(tx.raw(apart ? '(? offset 0) as v' : '? as v', [found.select('v.id', 'v.target_date')]))
      .orderBy([
        { column: 'target_date', order },
        { column: 'id', order },
      ])
      .limit(skip + limit);
  const certain = first(visits(everywhere).whereRaw(REACHED), late === true),
    asked = first(judged(somewhere), true);
  return tx.select('id').from(tx.raw('(? union all ?) as v', [certain, asked]));
}

/**
 * The SEQUENCE in calendars of each of a participant's visits, by visit key; and whether the participation is over: the
 * participant has withdrawn, or the study has ended.
 */
export async function calendarFacts(
  tx: Tx,
  participantId: string,
): Promise<{ over: boolean; sequences: Map<string, number> }> {
  const rows = await query<{ over: boolean; visit_key: string; sequence: number }>(
    tx,
    `select p.status = 'withdrawn' or ${hasEnded('s')} as over, v.visit_key,
      ${visitSequence('v.participant_id', 'v.visit_key')} as sequence
     from participants p join studies s on s.id = p.study_id
       join (select distinct participant_id, visit_key from scheduled_visits where participant_id = $1) v
         on v.participant_id = p.id`,
    [participantId],
  );
  const found = rows;
  return {
    over: found[0]?.over ?? false,
    sequences: new Map(found.map(({ visit_key, sequence }) => [visit_key, sequence])),
  };
}

/**
 * Each of a participant's visits once, by target date: its live row; if all are closed, the last closed one. A schedule
 * that was changed often has many rows of a visit.
 */
export async function calendarVisits(tx: Tx, participantId: string): Promise<VisitRecord[]> {
  const newest = tx('scheduled_visits')
    .where({ participant_id: participantId })
    .distinctOn('visit_key')
    .orderBy('visit_key')
    .orderByRaw(`status in ('superseded', 'cancelled'), created_at desc, id desc`)
    .select('id');
  return tx(FROM)
    .join('participants as p', 'p.id', 'v.participant_id')
    .joinRaw(CALENDAR)
    .whereIn('v.id', newest)
    .orderBy(['v.target_date', 'v.id'])
    .select(tx.raw(COLUMNS)) as Promise<VisitRecord[]>;
}

export async function visitById(tx: Tx, id: string, lock = false): Promise<VisitRecord | undefined> {
  const found = tx(FROM).join('participants as p', 'p.id', 'v.participant_id').joinRaw(CALENDAR).where('v.id', id);
  if (lock) void found.forUpdate('v');
  return found.first(tx.raw(COLUMNS)) as Promise<VisitRecord | undefined>;
}

/**
 * Inserts a visit scheduled by hand, with the status of today in the participant's time zone: a past window is missed.
 */
export async function insertVisit(
  tx: Tx,
  visit: Partial<ScheduledVisit> & {
    study_id: string;
    participant_id: string;
    window_open: string;
    window_close: string;
  },
): Promise<string> {
  const row = await ScheduledVisit.query(tx)
    .insert({ ...visit, status: await statusToday(tx, visit) })
    .returning('id');
  return row.id;
}

/** Whether this key, or a schedule for this window, has a visit that is neither superseded nor cancelled. */
export async function hasLiveVisit(
  tx: Tx,
  participantId: string,
  { visitKey, windowId }: { visitKey: string; windowId: string },
): Promise<boolean> {
  return (
    (await tx(FROM)
      .where({ participant_id: participantId })
      .whereRaw('(visit_key = ? or (visit_window_id = ? and schedule_version_id is not null))', [visitKey, windowId])
      .whereNotIn('status', ['superseded', 'cancelled'])
      .first('id')) !== undefined
  );
}

export async function updateVisit(tx: Tx, id: string, change: Partial<ScheduledVisit>): Promise<void> {
  if (Object.keys(change).length > 0) await ScheduledVisit.query(tx).findById(id).patch(change);
}

/** Settles a review: removes the mark, and stores the compared target beside who settled it. */
export async function settleReview(
  tx: Tx,
  id: string,
  review: { by: string; resolution: string | null; heldAgainst: string | null; reportingTarget: string | null },
): Promise<void> {
  await tx('scheduled_visits')
    .where({ id })
    .update({
      needs_review: false,
      reviewed_at: tx.raw('clock_timestamp()'),
      reviewed_by_id: review.by,
      original_users: tx.raw(`nullif(original_users - 'reviewed_by_id', '{}')`),
      review_resolution: review.resolution,
      reviewed_target_date: review.heldAgainst,
      reporting_target_date: review.reportingTarget,
    });
}
