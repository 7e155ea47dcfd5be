import { query } from '../client/query.js';
import type { HolidayCalendarRecord } from '../scheduling/holiday-calendars.queries.js';
import type { Tx } from '../client/database.js';

/** A saved study design: without ids, batteries named by their codes. */
export interface SavedTemplate {
  id: string;
  study_id: string;
  name: string;
  category: string;
  description: string;
  content: unknown;
  created_at: string;
}

const COLUMNS = ['id', 'study_id', 'name', 'category', 'description', 'content', 'created_at'] as const;

/** What a list says of a template: its design may be megabytes long. */
export type SavedTemplateSummary = Omit<SavedTemplate, 'content' | 'created_at'> & {
  languages: string[];
  batteries: number;
  visit_windows: number;
  duration_days: number;
};

/** Templates of the studies in scope, by id. */
export const savedTemplateSummaries = (tx: Tx): Promise<SavedTemplateSummary[]> =>
  query(
    tx,
    `select id, study_id, name, category, description, content->'languages' as languages,
       json_array_length(content->'batteries') as batteries,
         json_array_length(content->'visit_windows') as visit_windows,
       (select coalesce(max(day) - min(day), 0) from (
         select (w->>'target_day')::integer as day from json_array_elements(content->'visit_windows') w
         union all select (e->>'target_day')::integer
           from json_array_elements(content->'event_definitions') e) d) as duration_days
     from study_templates order by id`,
  );

export async function savedTemplate(tx: Tx, id: string): Promise<SavedTemplate | undefined> {
  return tx('study_templates')
    .where({ id })
    .first(...COLUMNS);
}

export async function insertTemplate(
  tx: Tx,
  template: Omit<SavedTemplate, 'created_at'> & { created_by_id: string },
): Promise<void> {
  await tx('study_templates').insert({ ...template, content: JSON.stringify(template.content) });
}

export async function deleteTemplate(tx: Tx, id: string): Promise<void> {
  await tx('study_templates').where({ id }).delete();
}

interface ModuleDesign {
  task: string;
  name: string;
  settings: Record<string, unknown>;
  required: boolean;
  estimated_minutes: number;
}
interface WindowDesign {
  code: string;
  name: string;
  battery: string | null;
  target_day: number;
  window_before: number;
  window_after: number;
  is_baseline: boolean;
  datacapture_event: string | null;
  sort_order: number;
}
interface EventDesign extends Omit<WindowDesign, 'code'> {
  event_oid: string;
  repeating: { count: number; every_days: number } | null;
}
interface CaptureDesign {
  enrollment_instrument: string | null;
  enrollment_event: string | null;
  participant_field_mapping: Record<string, string>;
  event_battery_mapping: Record<
    string,
    { battery: string | null; target_day: number; window_before: number; window_after: number }
  >;
  data_field_mapping: Record<string, unknown>;
}
export interface StudyDesign {
  batteries: { code: string; name: string; description: string | null; modules: ModuleDesign[] }[];
  visit_windows: WindowDesign[];
  event_definitions: EventDesign[];
  /** Those of the whole study: a design has no sites. */
  holiday_calendars: Pick<HolidayCalendarRecord, 'name' | 'is_default' | 'weekend_days' | 'holidays'>[];
  capture: CaptureDesign | null;
}

/** Bytes of the settings that a study's design has: its batteries may be megabytes long. */
export async function settingsBytes(tx: Tx, studyId: string): Promise<number> {
  const rows = await query<{ bytes: number }>(
    tx,
    `select coalesce(sum(octet_length(m.settings::text)), 0)::integer as bytes
     from batteries b join battery_modules m
       on m.battery_id = b.id and m.version = coalesce(b.published_version, b.version)
     where b.study_id = $1 and b.status <> 'retired'`,
    [studyId],
  );
  return rows[0]!.bytes;
}

/**
 * A study's design, in one snapshot: the capture system's mappings, or pending ones; batteries that are not retired, in
 * the version that clients get now.
 */
export async function studyDesign(tx: Tx, studyId: string): Promise<StudyDesign> {
  const plan =
    `'battery', b.code, 'target_day', x.target_day, 'window_before', x.window_before, 'window_after', ` +
    'x.window_after';
  const rows = await query<StudyDesign>(
    tx,
    `select
      coalesce((select jsonb_agg(jsonb_build_object('code', b.code, 'name', b.name, 'description', b.description,
        'modules', coalesce((select jsonb_agg(jsonb_build_object('task', m.task, 'name', m.name,
        'settings', m.settings, 'required', m.required, 'estimated_minutes', m.estimated_minutes) order by m.position)
        from battery_modules m where m.battery_id = b.id and m.version = coalesce(b.published_version, b.version)),
          '[]')) order by b.id)
        from batteries b where b.study_id = $1 and b.status <> 'retired'), '[]') as batteries,
      coalesce((select jsonb_agg(jsonb_build_object('code', x.code, 'name', x.name, ${plan}, 'is_baseline',
        x.is_baseline, 'datacapture_event', x.datacapture_event, 'sort_order', x.sort_order)
        order by x.sort_order, x.target_day, x.code) from visit_windows x left join batteries b on b.id = x.battery_id
          and b.status <> 'retired' where x.study_id = $1), '[]') as visit_windows,
      coalesce((select jsonb_agg(jsonb_build_object('event_oid', x.event_oid, 'name', x.name, ${plan}, 'is_baseline',
        x.is_baseline, 'datacapture_event', x.datacapture_event, 'sort_order', x.sort_order,
        'repeating', case when x.repeat_count is not null
          then jsonb_build_object('count', x.repeat_count, 'every_days', x.repeat_every_days) end)
        order by x.sort_order, x.target_day, x.event_oid) from event_definitions x
          left join batteries b on b.id = x.battery_id and b.status <> 'retired' where x.study_id = $1),
          '[]') as event_definitions,
      coalesce((select jsonb_agg(jsonb_build_object('name', name, 'is_default', is_default,
        'weekend_days', weekend_days, 'holidays', holidays) order by name) from holiday_calendars
          where study_id = $1 and site_id is null), '[]') as holiday_calendars,
      (select jsonb_build_object('enrollment_instrument', c.enrollment_instrument, 'enrollment_event',
        c.enrollment_event, 'participant_field_mapping', c.participant_field_mapping,
        'data_field_mapping', c.data_field_mapping, 'event_battery_mapping',
          coalesce((select jsonb_object_agg(e.key, jsonb_build_object('battery', b.code, 'target_day',
          e.value->'target_day',
          'window_before', coalesce(e.value->'window_before', '0'), 'window_after',
            coalesce(e.value->'window_after', '7')))
          from jsonb_each(c.event_battery_mapping) e left join batteries b on b.id = (e.value->>'battery_id')::integer
            and b.study_id = $1 and b.status <> 'retired'), '{}'))
        from (select * from (
          select enrollment_instrument, enrollment_event, participant_field_mapping, event_battery_mapping,
            data_field_mapping, 0 as place from datacapture_configs where study_id = $1
          union all select d->>'enrollment_instrument', d->>'enrollment_event',
            coalesce(d->'participant_field_mapping', '{}'), coalesce(d->'event_battery_mapping', '{}'),
            coalesce(d->'data_field_mapping', '{}'), 1
          from (select config->'capture_defaults' as d from studies where id = $1) s
            where jsonb_typeof(d) = 'object') either order by place limit 1) c) as capture`,
    [studyId],
  );
  return rows[0]!;
}
