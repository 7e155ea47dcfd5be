import type { VisitContent, VisitDays } from '../models/records.js';
import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import { sourcesByArm } from './schedule-arms.queries.js';
import type { Tx } from '../client/database.js';

export interface WindowRow {
  id: string;
  code: string;
  name: string;
  battery_id: number | null;
  target_day: number;
  window_before: number;
  window_after: number;
  is_baseline: boolean;
  datacapture_event: string | null;
  event_identity?: string;
  sort_order: number;
}
export interface EventRow {
  id: string;
  event_oid: string;
  name: string;
  target_day: number;
  window_before: number;
  window_after: number;
  battery_id: number | null;
  is_baseline: boolean;
  repeating: { count: number; every_days: number } | null;
  datacapture_event: string | null;
  sort_order: number;
}
export interface CalendarRow {
  id: string;
  site_id: string | null;
  is_default: boolean;
  weekend_days: number[];
  holidays: { date: string; name: string | null }[];
}
/** The sources of a study's schedules; `edc` is set in that scheduling mode. */
export interface ScheduleSources {
  windows: WindowRow[];
  mapping: Record<
    string,
    { battery_id?: number | null; target_day: number; window_before?: number; window_after?: number; identity?: string }
  >;
  edc: { events: EventRow[]; calendars: CalendarRow[] } | null;
  /** The arms of the capture system's events, by their names. */
  event_arms: Record<string, number>;
}

const EDC = `jsonb_build_object(
  'events', coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'event_oid', e.event_oid, 'name', e.name,
    'target_day', e.target_day,
       'window_before', e.window_before, 'window_after', e.window_after, 'battery_id', e.battery_id, 'is_baseline',
         e.is_baseline,
       'repeating', case when e.repeat_count is null
         then null else jsonb_build_object('count', e.repeat_count, 'every_days', e.repeat_every_days) end,
       'datacapture_event', e.datacapture_event, 'sort_order', e.sort_order)
       order by e.sort_order, e.target_day, e.event_oid) from event_definitions e where e.study_id = s.id), '[]'),
  'calendars', coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'site_id', c.site_id, 'is_default',
    c.is_default, 'weekend_days', c.weekend_days,
       'holidays', c.holidays) order by c.id) from holiday_calendars c where c.study_id = s.id), '[]'))`;

/** `{[key]: identity}` of an event with another identity than its name; else `{}`. */
const identityOf = (event: string, key: string) => `coalesce((select jsonb_build_object('${key}', k.value->'identity')
         from jsonb_each(d.known_events) k where k.value->>'name' = ${event} and k.value->>'identity' <> ${event}
           limit 1), '{}')`;

/** The event mapping; an entry under a former name of its event also has the present one. */
const MAPPING = `select jsonb_object_agg(m.key, m.value || ${identityOf('m.key', 'identity')})
       from datacapture_configs d, jsonb_each(d.event_battery_mapping) m where d.study_id = s.id`;

const SOURCES = `coalesce((select jsonb_agg(jsonb_build_object('id', w.id, 'code', w.code, 'name', w.name, 'battery_id',
  w.battery_id, 'target_day', w.target_day,
         'window_before', w.window_before, 'window_after', w.window_after, 'is_baseline', w.is_baseline,
           'datacapture_event', w.datacapture_event, 'sort_order', w.sort_order)
           || ${identityOf('w.datacapture_event', 'event_identity')}
         order by w.sort_order, w.target_day, w.code) from visit_windows w
           left join datacapture_configs d on d.study_id = w.study_id where w.study_id = s.id), '[]') as windows,
       coalesce((${MAPPING}), '{}') as mapping,
       coalesce((select jsonb_object_agg(k.value->>'name', k.value->'arm') from datacapture_configs d,
         jsonb_each(d.known_events) k where d.study_id = s.id), '{}') as event_arms,
       case when s.config->>'scheduling_mode' = 'edc' then ${EDC} end as edc`;

export async function readScheduleSources(tx: Tx, studyId: string): Promise<ScheduleSources> {
  const [sources] = await prepared<ScheduleSources>(tx, `select ${SOURCES} from studies s where s.id = $1`, [studyId]);
  return sources!;
}

export interface StandingRow {
  participant_id: string;
  id: string;
  visit_key: string;
  status: 'scheduled' | 'open' | 'completed' | 'missed' | 'cancelled';
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  battery_id: number | null;
  datacapture_event: string | null;
  schedule_version_id: string | null;
  needs_review: boolean;
  reporting_target_date: string | null;
  reviewed_target_date: string | null;
  moved_from: VisitDays | null;
  changed_from: VisitContent | null;
}
export interface CurrentVersionRow {
  participant_id: string;
  id: string | null;
  latest_number: number;
  anchor_date_used: string | null;
  latest_date: string;
}

interface ScheduleRow {
  visits: StandingRow[];
  versions: CurrentVersionRow[];
  /** For each participant in one of several capture-system arms. */
  arms: Record<string, number>;
}
const armsOf = (whose: string) => `coalesce((select json_object_agg(id, datacapture_arm) from participants
         where id ${whose} and datacapture_arm is not null), '{}') as arms`;
/** The live visits and the current version of each participant. */
const standing = (whose: string) => `coalesce((select json_agg(row_to_json(v)) from (
         select participant_id, id, visit_key, status, name, target_date, window_open, window_close, battery_id,
           datacapture_event, schedule_version_id, needs_review, reporting_target_date, reviewed_target_date,
           moved_from, changed_from
         from scheduled_visits
           where participant_id ${whose} and (status not in ('superseded', 'cancelled') or cancelled_by_hand)) v),
           '[]') as visits,
       coalesce((select json_agg(row_to_json(c)) from (
         select participant_id, max(version_number) as latest_number, max(id::text) filter (where is_current) as id,
           max(anchor_date_used) filter (where is_current) as anchor_date_used,
           (array_agg(anchor_date_used order by version_number desc))[1] as latest_date
         from schedule_versions where participant_id ${whose} group by participant_id) c), '[]') as versions,
       ${armsOf(whose)}`;
/**
 * One participant is queried by a single value: an array is planned every time (as in facts.ts), 4 ms of a preview's 6.
 */
const OF_ONE = {
  alone: `select ${standing('= $2')} from studies s where s.id = $1`,
  withSources: `select ${SOURCES}, ${standing('= $2')} from studies s where s.id = $1`,
};
const OF_MANY = {
  alone: `select ${standing('= any($2)')} from studies s where s.id = $1`,
  withSources: `select ${SOURCES}, ${standing('= any($2)')} from studies s where s.id = $1`,
};
const OF_NEWCOMERS = `select ${SOURCES}, '[]'::json as visits, '[]'::json as versions, ${armsOf('= any($2)')}
  from studies s where s.id = $1`;

/** The sources of a participant's next schedule. */
export interface ScheduleInputRows extends Omit<ScheduleSources, 'edc' | 'event_arms'> {
  edc: { events: EventRow[]; calendar: CalendarRow | null } | null;
  standing: StandingRow[];
  latest_number: number;
  latest_date: string | null;
  current_date: string | null;
}

/** Reads the row for `scheduleInputsOf`, for one participant. */
export const scheduleInputsStatement = (studyId: string, participantId: string): Statement => ({
  sql: OF_ONE.withSources,
  values: [studyId, participantId],
});

/** The inputs of the participant's next schedule, from the row of `scheduleInputsStatement`. */
export async function scheduleInputsOf(tx: Tx, participantId: string, row: unknown): Promise<ScheduleInputRows> {
  const read = row as ScheduleRow & ScheduleSources;
  return (await inputsFrom(tx, [participantId], read, read)).get(participantId)!;
}

/** The inputs of each participant's next schedule; all must be in one study. */
export async function readScheduleInputs(
  tx: Tx,
  studyId: string,
  participantIds: readonly string[],
  sources?: ScheduleSources,
): Promise<Map<string, ScheduleInputRows>> {
  const [sql, values] =
    participantIds.length === 1 ? [OF_ONE, [studyId, participantIds[0]]] : [OF_MANY, [studyId, [...participantIds]]];
  const [read] = sources
    ? await prepared<ScheduleRow>(tx, sql.alone, values)
    : await prepared<ScheduleRow & ScheduleSources>(tx, sql.withSources, values);
  return inputsFrom(tx, participantIds, read!, sources ?? (read as ScheduleSources & ScheduleRow));
}

/** `readScheduleInputs` of participants whom this transaction has enrolled: none has a visit or a version yet. */
export async function newcomersScheduleInputs(
  tx: Tx,
  studyId: string,
  participantIds: readonly string[],
): Promise<Map<string, ScheduleInputRows>> {
  const [read] = await prepared<ScheduleRow & ScheduleSources>(tx, OF_NEWCOMERS, [studyId, [...participantIds]]);
  return inputsFrom(tx, participantIds, read!, read!);
}

async function inputsFrom(
  tx: Tx,
  participantIds: readonly string[],
  { visits, versions, arms }: ScheduleRow,
  all: ScheduleSources,
): Promise<Map<string, ScheduleInputRows>> {
  const { edc } = all;
  const ofArm = sourcesByArm({ ...all, events: edc?.events ?? [] });
  const calendarOf = edc ? await calendarsOf(tx, edc.calendars, participantIds) : () => null;
  const inputs = new Map<string, ScheduleInputRows>(
    participantIds.map((id) => {
      const { windows, mapping, events } = ofArm(arms[id]);
      return [
        id,
        {
          windows,
          mapping,
          edc: edc && { events, calendar: calendarOf(id) },
          standing: [],
          latest_number: 0,
          latest_date: null,
          current_date: null,
        },
      ];
    }),
  );
  for (const visit of visits) inputs.get(visit.participant_id)!.standing.push(visit);
  for (const version of versions)
    Object.assign(inputs.get(version.participant_id)!, {
      latest_number: version.latest_number,
      latest_date: version.latest_date,
      current_date: version.id === null ? null : version.anchor_date_used,
    });
  return inputs;
}

/** The calendar of each participant: the site's own, else the study's default, else none. */
async function calendarsOf(
  tx: Tx,
  calendars: readonly CalendarRow[],
  participantIds: readonly string[],
): Promise<(participantId: string) => CalendarRow | null> {
  const byDefault = calendars.find((calendar) => calendar.is_default) ?? null;
  const bySite = new Map(
    calendars.filter((calendar) => calendar.site_id !== null).map((calendar) => [calendar.site_id, calendar]),
  );
  if (bySite.size === 0) return () => byDefault;
  const rows: { id: string; site_id: string | null }[] = await tx('participants')
    .whereRaw('id = any(?)', [[...participantIds]])
    .select('id', 'site_id');
  const sites = new Map(rows.map((row) => [row.id, row.site_id]));
  return (id) => bySite.get(sites.get(id) ?? null) ?? byDefault;
}

/**
 * The participants of these whose current schedule is newer than the last change of `kind` but older than a change of
 * another kind: with the kind that changed last. Only kinds that record a time for every change are compared.
 */
export async function newerChanges(
  tx: Tx,
  studyId: string,
  kind: string,
  participantIds: readonly string[],
): Promise<{ participant_id: string; kind: string }[]> {
  return prepared(
    tx,
    `with changes as materialized (
       select * from (values
         ('events', (select max(updated_at) from event_definitions where study_id = $1)),
         ('calendar', (select max(updated_at) from holiday_calendars where study_id = $1)),
         ('windows', (select max(updated_at) from visit_windows where study_id = $1)),
         ('policy', (select max(created_at) from enrollment_policies where study_id = $1))) c (kind, at)
           where at is not null)
     select v.participant_id, (select c.kind from changes c order by c.at desc limit 1) as kind
     from schedule_versions v
     where v.participant_id = any($3) and v.is_current
       and v.generated_at > (select at from changes where changes.kind = $2)
       and v.generated_at < (select max(at) from changes)`,
    [studyId, kind, [...participantIds]],
  );
}

/**
 * The number of participants whose schedule follows another date than their anchor, because an override left it
 * unchanged. The next change to a schedule's sources moves all their visits.
 */
export async function countOffAnchor(tx: Tx, studyId: string): Promise<number> {
  // Few studies have such an override: of the others no schedule is read.
  const left = await tx('anchor_date_history')
    .where({ study_id: studyId, event_type: 'OVERRIDE_GRANTED' })
    .whereNull('schedule_version_created_id')
    .first('id');
  if (!left) return 0;
  const [row] = (await tx('schedule_versions as v')
    .join('participants as p', 'p.id', 'v.participant_id')
    .join('anchor_dates as a', 'a.participant_id', 'v.participant_id')
    .where({ 'v.study_id': studyId, 'v.is_current': true, 'p.status': 'enrolled' })
    .whereNotNull('a.enrollment_date_value')
    .whereRaw('a.enrollment_date_value <> v.anchor_date_used')
    .count('* as count')) as [{ count: number }];
  return row.count;
}
