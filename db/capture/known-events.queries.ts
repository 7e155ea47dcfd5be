import { ResultPush } from '../models/capture.js';
import { prepared } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** An event of the capture system, stored by its id. */
export interface KnownEventRow {
  name: string;
  label: string;
  arm: number;
  identity: string;
  told: string;
  former: string[];
  gone?: boolean;
  was?: string;
}

/** A renamed event; `label_…` is its display name. */
export interface EventRename {
  from: string;
  to: string;
  label_from: string;
  label_to: string;
}

const RENAMES = `with r as (select * from jsonb_to_recordset($2::jsonb) as r ("from" text, "to" text, label_from text,
  label_to text)),`;

/**
 * Gives windows, event definitions and visits of every status the new event names, all at once, so that two events may
 * have swapped names. Open visits also take their window's new name: the plan has it, and no new version follows.
 * @returns how many visits were renamed
 */
export async function renameEvents(tx: Tx, studyId: string, renames: readonly EventRename[]): Promise<number> {
  const [counted] = await prepared<{ visits: number }>(
    tx,
    `${RENAMES}
     names as (
       select w.id as window_id, w.name as was, r.label_to as name from visit_windows w
         join r on r."from" = w.datacapture_event
        where w.study_id = $1 and w.name = r.label_from and r.label_to <> ''),
     windows as (
       update visit_windows w set datacapture_event = r."to", name = case when w.name = r.label_from
         and r.label_to <> '' then left(r.label_to, 300) else w.name end
         from r where w.study_id = $1 and w.datacapture_event = r."from"),
     definitions as (
       update event_definitions e set datacapture_event = r."to" from r
         where e.study_id = $1 and e.datacapture_event = r."from" and r."from" <> r."to"),
     planned as (
       update scheduled_visits v set changed_from = jsonb_set(v.changed_from, '{datacapture_event}', to_jsonb(r."to"))
         from r where v.study_id = $1 and v.changed_from->>'datacapture_event' = r."from"
           and not exists (select from r o where o."from" = v.datacapture_event)),
     visits as (
       update scheduled_visits v set datacapture_event = r."to",
         changed_from = case when v.changed_from->>'datacapture_event' is null then v.changed_from
           else jsonb_set(v.changed_from, '{datacapture_event}',
             to_jsonb(coalesce((select o."to" from r o where o."from" = v.changed_from->>'datacapture_event'),
             v.changed_from->>'datacapture_event'))) end,
         name = case when v.status in ('completed', 'superseded') then v.name
           when v.visit_window_id is null and v.schedule_version_id is not null and v.name = r."from" then r."to"
           else coalesce((select left(n.name, 300) from names n where n.window_id = v.visit_window_id
             and n.was = v.name), v.name) end
         from r where v.study_id = $1 and v.datacapture_event = r."from" returning v.id)
     select count(*)::integer as visits from visits`,
    [studyId, JSON.stringify(renames)],
  );
  return counted!.visits;
}

/**
 * Locks the anchors of a study's participants, in the order that every decision uses. Anyone who makes a schedule has
 * then read windows and visits under one name each, or reads them after this transaction.
 */
export async function lockSchedules(tx: Tx, studyId: string): Promise<void> {
  await prepared(
    tx,
    `with held as materialized (select participant_id from anchor_dates where study_id = $1 order by participant_id
      for no key update) select count(*) from held`,
    [studyId],
  );
}

/** Events that a study's windows, event definitions and open visits name. */
export async function eventsInUse(tx: Tx, studyId: string): Promise<string[]> {
  const rows = await prepared<{ name: string }>(
    tx,
    `select datacapture_event as name from visit_windows where study_id = $1 and datacapture_event is not null
     union select datacapture_event from event_definitions where study_id = $1 and datacapture_event is not null
     union select datacapture_event from scheduled_visits where study_id = $1 and datacapture_event is not null 
       and (status in ('scheduled', 'open') or (status = 'completed' and data_sync_status in ('pending', 'failed')))`,
    [studyId],
  );
  return rows.map(({ name }) => name);
}

/**
 * Requests another push for results of visits at these events that failed or are pending: the capture system may accept
 * under the new name what it refused under the old one. @returns their sessions
 */
export async function pushesAtEvents(tx: Tx, studyId: string, events: readonly string[]): Promise<{ id: string }[]> {
  return ResultPush.query(tx)
    .alias('p')
    .joinRelated('session.visit')
    .where('p.study_id', studyId)
    .whereIn('session:visit.datacapture_event', events)
    .where('session:visit.status', 'completed')
    .whereRaw(`(p.status in ('pending', 'waiting') or (p.status = 'failed' and p.error_type = 'rejected'))`)
    .orderBy('p.session_id')
    .select('p.session_id as id')
    .castTo<{ id: string }[]>();
}

/**
 * Places the participants of a project's only arm in it, as the project gets another one. @returns how many they are
 */
export const placeInArm = (tx: Tx, studyId: string, arm: number): Promise<number> =>
  tx('participants')
    .where({ study_id: studyId })
    .whereNotNull('external_id')
    .whereNull('datacapture_arm')
    .update({ datacapture_arm: arm });
