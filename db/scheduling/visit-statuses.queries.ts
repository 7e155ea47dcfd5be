import { lockByName, shareLocksOfStudies } from '../client/advisory-lock.js';
import { query } from '../client/query.js';
import { IMPORTS } from '../participants/import-lock.queries.js';
import type { Tx } from '../client/database.js';

export interface MovedVisit {
  id: string;
  study_id: string;
  participant_id: string;
  before: 'scheduled' | 'open' | 'missed';
  status: 'scheduled' | 'open' | 'missed';
}

/**
 * The participant of visit `v`, and the local date. A lateral join: without statistics of a new study, the planner
 * scanned all of its visits for every batch.
 */
const THERE = `cross join lateral (
       select p.status as participant_status, (now() at time zone coalesce(t.timezone, s.timezone))::date as today
       from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
         where p.id = v.participant_id offset 0) z`;
/** Of a day that is still ahead: since then the machine's clock, or the zone of study or site, has been corrected. */
const WAS_EARLY = `((v.status = 'open' and v.window_open > z.today)
  or (v.status = 'missed' and v.window_close >= z.today))`;
const IS_DUE =
  `z.participant_status = 'enrolled' and ((v.status = 'scheduled' and v.window_open <= z.today) or (v.status = ` +
  `'open' and v.window_close < z.today) or ${WAS_EARLY})`;
/** Where `WAS_EARLY` may hold, by the indexes. */
const MAY_BE_EARLY = `(v.status = 'open' and v.window_close >= (now() at time zone 'UTC')::date - 1
         and v.window_open >= (now() at time zone 'UTC')::date
       or v.status = 'missed' and v.window_close >= (now() at time zone 'UTC')::date - 1)`;

/**
 * Visits whose stored status is outdated, up to a limit, by the participant's local date; withdrawn participants'
 * schedules are frozen. No local date is more than a day after UTC's: that bound lets the indexes find the few that may
 * be due, the local date decides. They are found once for many batches: a batch with its own search would pass over all
 * those moved before it.
 */
export async function dueVisits(tx: Tx, limit: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    `select v.id from scheduled_visits v ${THERE}
     where ${IS_DUE} and ((v.status = 'scheduled' and v.window_open <= (now() at time zone 'UTC')::date + 1)
       or (v.status = 'open' and v.window_close < (now() at time zone 'UTC')::date + 1) or ${MAY_BE_EARLY})
     limit $1`,
    [limit],
  );
  return rows.map(({ id }) => id);
}

const ZONES = 'visit-zones ';
/**
 * A batch of the job takes this before it moves visits. It keeps out imports, which have an order of their own. A zone
 * that is corrected meanwhile waits for it and finds what it has written, or was corrected before and counts.
 */
export const lockForMoving = (tx: Tx, visitIds: readonly string[]): Promise<void> =>
  shareLocksOfStudies(tx, [IMPORTS, ZONES], visitIds);

/**
 * Who corrects a zone takes this before any row. A batch under way changes reminders of the study's visits, as the
 * correction does: it would wait for those that the correction holds, and the correction for the batch.
 */
export const lockZones = (tx: Tx, studyId: string): Promise<void> => lockByName(tx, ZONES + studyId);

/**
 * Gives the visits that a wrong time zone opened, or had missed, too early their status of today. Locked ones are left
 * to the next run of the job. `lockZones` comes before.
 * @param of whose zone has changed
 */
export async function returnEarlyVisits(
  tx: Tx,
  of: { studyId: string; siteId?: string; participantId?: string },
): Promise<MovedVisit[]> {
  const rows = await query<{ id: string }>(
    tx,
    `select v.id from scheduled_visits v ${THERE}
     where z.participant_status = 'enrolled' and ${WAS_EARLY} and ${MAY_BE_EARLY} and v.study_id = $1
       and ($2::uuid is null or v.participant_id = $2)
       and ($3::uuid is null or v.participant_id in (select id from participants where site_id = $3))`,
    [of.studyId, of.participantId ?? null, of.siteId ?? null],
  );
  return rows.length === 0
    ? []
    : moveVisits(
        tx,
        rows.map(({ id }) => id),
      );
}

/**
 * Updates visits by date: open once their window is, missed once it has closed, and back where that was too early. One
 * statement, which checks them again;
 * a locked visit is left to the next run.
 */
export async function moveVisits(tx: Tx, ids: readonly string[]): Promise<MovedVisit[]> {
  const rows = await query<MovedVisit>(
    tx,
    `with picked as materialized (select id, participant_id, status, window_open, window_close from scheduled_visits
      where id = any($1::uuid[]) for update skip locked),
     due as materialized (
       select v.id, v.status as before, case when v.window_close < z.today then 'missed'
         when v.window_open > z.today then 'scheduled' else 'open' end as status
         from picked v ${THERE} where ${IS_DUE})
     update scheduled_visits v set status = due.status, updated_at = clock_timestamp() from due where v.id = due.id
     returning v.id, v.study_id, v.participant_id, due.before, v.status`,
    [[...ids]],
  );
  return rows;
}

/** The status by date of a pending visit, in its participant's time zone. */
export async function statusToday(
  tx: Tx,
  visit: { participant_id: string; window_open: string; window_close: string },
): Promise<'scheduled' | 'open' | 'missed'> {
  const rows = await query<{ status: 'scheduled' | 'open' | 'missed' }>(
    tx,
    `select case when z.today < $1::date then 'scheduled' when z.today > $2::date
      then 'missed' else 'open' end as status
     from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
     cross join lateral (select (now() at time zone coalesce(t.timezone, s.timezone))::date as today) z
       where p.id = $3`,
    [visit.window_open, visit.window_close, visit.participant_id],
  );
  return rows[0]!.status;
}

/**
 * Whether a closed visit can be reopened: its schedule version is current (or it has none), or the current one refers
 * to it, and no other row replaces it.
 */
export async function mayReopen(tx: Tx, id: string): Promise<boolean> {
  const rows = await query<{ may: boolean }>(
    tx,
    `select (v.schedule_version_id is null or v.status = 'completed' or exists (select from schedule_versions s
      where s.participant_id = v.participant_id and s.is_current
           and (s.id = v.schedule_version_id
             or (v.status in ('cancelled', 'missed') and jsonb_exists(s.scheduling_settings->'carried_visit_ids',
             v.id::text)))))
       and not exists (select from scheduled_visits o where o.visit_key = v.visit_key and o.id <> v.id
         and o.status not in ('superseded', 'cancelled')) as may
     from scheduled_visits v where v.id = $1`,
    [id],
  );
  return rows[0]!.may;
}
