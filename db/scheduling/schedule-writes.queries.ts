import type { VisitContent, VisitDays } from '../models/records.js';
import { prepared } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { insertSql } from '../client/sets/bulk-insert.js';
import type { Tx } from '../client/database.js';

export interface VersionWrite {
  id: string;
  participant_id: string;
  study_id: string;
  is_current: true;
  status: 'active';
  version_number: number;
  anchor_date_used: string;
  anchor_version: number;
  anchor_date_id: string;
  scheduling_mode: string;
  holiday_calendar_id: string | null;
  scheduling_settings: unknown;
  visits_generated: number;
  generation_warnings: string[];
  generated_by_id: string | null;
}
export interface VisitWrite {
  id: string;
  visit_key: string;
  visit_window_id: string | null;
  schedule_version_id: string;
  name: string;
  event_definition_id?: string | null;
  event_oid?: string | null;
  event_occurrence?: number | null;
  battery_id: number | null;
  target_date: string;
  window_open: string;
  window_close: string;
  datacapture_event: string | null;
  is_baseline: boolean;
  moved_from?: VisitDays | null;
  changed_from?: VisitContent | null;
}

/**
 * Ends the current versions of these participants; their open visits get `visitStatus`. For `reconciled` participants,
 * whose final date moved, every visit of the version is marked so, also those of older versions that it refers to; only
 * what is still to do by hand does not depend on the date.
 */
export function supersedeVersionsStatements(
  participantIds: readonly string[],
  options: {
    reason: string;
    visitStatus: 'superseded' | 'cancelled';
    visitIds: readonly string[];
    reconciled: readonly string[];
  },
): Statement[] {
  const supersede = {
    sql: `with ended as (
       update schedule_versions set is_current = false, status = 'superseded', superseded_at = moment(),
         supersede_reason = $1::text
       where participant_id = any($2) and is_current
     )
     update scheduled_visits set status = $3, status_reason = $1::text, updated_at = clock_timestamp(),
       -- those that the version has from an earlier one, too
       anchor_reconciled = anchor_reconciled or participant_id = any($5),
       anchor_reconciled_at = case when participant_id = any($5) then clock_timestamp() else anchor_reconciled_at end
       where id = any($4) and status in ('scheduled', 'open', 'missed')`,
    values: [options.reason, participantIds, options.visitStatus, options.visitIds, options.reconciled],
  };
  const mark = {
    sql: `update scheduled_visits v set anchor_reconciled = true, anchor_reconciled_at = clock_timestamp()
     from (select distinct on (participant_id) id, scheduling_settings from schedule_versions
         where participant_id = any($1) order by participant_id, version_number desc) ended
       cross join lateral (
         select o.id, false as carried from scheduled_visits o where o.schedule_version_id = ended.id
         union all select c.id::uuid, true
           from jsonb_array_elements_text(coalesce(ended.scheduling_settings -> 'carried_visit_ids', '[]')) c(id)) of_it
     where v.id = of_it.id and (not of_it.carried or v.status not in ('scheduled', 'open'))`,
    values: [options.reconciled],
  };
  return options.reconciled.length === 0 ? [supersede] : [supersede, mark];
}

const VERSION_COLUMNS = [
  'id',
  'participant_id',
  'study_id',
  'version_number',
  'is_current',
  'status',
  'anchor_date_used',
  'anchor_version',
  'anchor_date_id',
  'scheduling_mode',
  'holiday_calendar_id',
  'scheduling_settings',
  'visits_generated',
  'generation_warnings',
  'generated_by_id',
];
/** The differing fields of visits, with their types: the others come from the version, or are defaults. */
const VISIT_FIELDS = {
  id: 'uuid',
  visit_key: 'uuid',
  visit_window_id: 'uuid',
  schedule_version_id: 'uuid',
  name: 'text',
  battery_id: 'integer',
  target_date: 'date',
  window_open: 'date',
  window_close: 'date',
  event_definition_id: 'uuid',
  event_oid: 'text',
  event_occurrence: 'integer',
  datacapture_event: 'text',
  is_baseline: 'boolean',
  moved_from: 'jsonb',
  changed_from: 'jsonb',
} as const satisfies Partial<Record<keyof VisitWrite, string>>;
const FIELDS = Object.keys(VISIT_FIELDS) as (keyof typeof VISIT_FIELDS)[];
// The ids stand beside the rows: the planner takes a JSON document for a hundred rows, and would read all participants.
const INSERT_VERSIONS = `with v as (${insertSql({ table: 'schedule_versions', columns: VERSION_COLUMNS }, '$1')}),
  n as (
    select n.*, (now() at time zone coalesce(t.timezone, s.timezone))::date as today
    from jsonb_to_recordset($1::jsonb) as n(participant_id uuid, study_id uuid, id uuid)
    join participants p on p.id = n.participant_id join studies s on s.id = p.study_id
      left join sites t on t.id = p.site_id
    where p.id = any($3::uuid[])),
  w as (
    insert into scheduled_visits (study_id, participant_id, created_at, updated_at, status, ${FIELDS.join(', ')})
    select n.study_id, n.participant_id, moment(), moment(), case when n.today between x.window_open and x.window_close
      then 'open' else 'scheduled' end, ${FIELDS.map((field) => `x.${field}`).join(', ')}
    from jsonb_to_recordset($2::jsonb) as x(${FIELDS.map((field) => `${field} ${VISIT_FIELDS[field]}`).join(', ')})
      join n on n.id = x.schedule_version_id),
  -- the versions before it name the one that followed them
  chained as (update schedule_versions v set superseded_by_id = n.id from n where v.participant_id = any($3::uuid[])
    and v.participant_id = n.participant_id and v.superseded_by_id is null and v.id <> n.id)
  update anchor_dates a set current_schedule_version_id = n.id from n where a.participant_id = any($3::uuid[])
    and a.participant_id = n.participant_id and a.current_schedule_version_id is distinct from n.id`;

/**
 * Inserts the next versions with their visits and makes them current, in one round trip: an anchor that its decision
 * has changed names its version already. A visit whose window is open today, in the participant's time zone, is opened
 * at once; one whose window has closed is left to the hourly job, which records and reports that it was missed. The
 * one-live index refuses a concurrent completion.
 */
export const insertVersionsStatement = (
  versions: readonly VersionWrite[],
  visits: readonly VisitWrite[],
): Statement => ({
  sql: INSERT_VERSIONS,
  values: [JSON.stringify(versions), JSON.stringify(visits), versions.map((v) => v.participant_id)],
});

/** Anchors that no longer have a current version. */
export const unpointAnchorsStatement = (participantIds: readonly string[]): Statement => ({
  sql: 'update anchor_dates set current_schedule_version_id = null where participant_id = any($1)',
  values: [participantIds],
});

export interface CompletedWrite {
  id: string;
  needs_review: boolean;
  reporting_target_date: string | null;
}

/** Marks completed visits reconciled: each stays one row, with its target unchanged. */
export const reconcileCompletedStatement = (visits: readonly CompletedWrite[]): Statement => ({
  sql: `update scheduled_visits v set anchor_reconciled = true, anchor_reconciled_at = clock_timestamp(),
    needs_review = n.needs_review, reporting_target_date = n.reporting_target_date
     from jsonb_to_recordset($1::jsonb) as n(id uuid, needs_review boolean, reporting_target_date date)
       where v.id = any($2::uuid[]) and v.id = n.id`,
  values: [JSON.stringify(visits), visits.map((v) => v.id)],
});

/** Updates the baseline mark of these participants' live visits to their windows' and events' current state. */
export async function followBaseline(tx: Tx, participantIds: readonly string[]): Promise<void> {
  await prepared(
    tx,
    `with wanted as materialized (
       select v.id, coalesce(w.is_baseline, e.is_baseline) as is_baseline
       from scheduled_visits v left join visit_windows w on w.id = v.visit_window_id
         left join event_definitions e on e.id = v.event_definition_id
       where v.participant_id = any($1) and v.status not in ('superseded', 'cancelled')
         and v.is_baseline <> coalesce(w.is_baseline, e.is_baseline)
     )
     update scheduled_visits v set is_baseline = n.is_baseline from wanted n where v.participant_id = any($1)
       and v.id = n.id`,
    [[...participantIds]],
  );
}

/**
 * Gives live visits that the event mapping planned the window that their event has by now, with its baseline mark: a
 * completed one is in no new version. Of several windows of an event the first in the plan's order is its window.
 */
export async function followWindows(tx: Tx, studyId: string, participantIds: readonly string[]): Promise<void> {
  await prepared(
    tx,
    `with windows as materialized (
       select distinct on (datacapture_event) id, datacapture_event, is_baseline from visit_windows
         where study_id = $2 and datacapture_event is not null order by datacapture_event, sort_order, target_day, code
     )
     update scheduled_visits v set visit_window_id = w.id, is_baseline = w.is_baseline from windows w
     where v.participant_id = any($1) and v.visit_window_id is null and v.event_definition_id is null
       and v.schedule_version_id is not null and (v.status not in ('superseded', 'cancelled') or v.cancelled_by_hand)
       and coalesce(v.changed_from->>'datacapture_event', v.datacapture_event) = w.datacapture_event
       and not exists (select from scheduled_visits o where o.participant_id = v.participant_id
         and o.visit_window_id = w.id and o.schedule_version_id is not null
         and o.status not in ('superseded', 'cancelled'))`,
    [[...participantIds], studyId],
  );
}
