import type { StudyRecord } from '../studies/studies.queries.js';
import { STUDY_COLUMNS } from '../studies/studies.queries.js';
import type { EventDefinitionRecord } from '../scheduling/event-definitions.queries.js';
import type { EventBattery } from '../capture/datacapture-configs.queries.js';
import type { VisitWindow } from '../models/records.js';
import { query, queryAll } from '../client/query.js';
import type { Tx } from '../client/database.js';

export type OverviewWindow = Pick<
  VisitWindow,
  'id' | 'code' | 'name' | 'target_day' | 'window_before' | 'window_after' | 'is_baseline' | 'datacapture_event'
> & { battery: string | null };
export type OverviewEvent = Pick<
  EventDefinitionRecord,
  'id' | 'event_oid' | 'name' | 'target_day' | 'window_before' | 'window_after' | 'is_baseline' | 'repeating'
> & { battery: string | null };
export interface OverviewBattery {
  id: number;
  code: string;
  name: string;
  status: string;
  published_version: number | null;
  tasks: number;
}
export interface Member {
  id: string;
  name: string;
  email: string;
  role: string;
  status: string;
  sites: string[];
}
interface OverviewFigures {
  policy_version: number;
  participants: number;
  sites: { site_code: string; name: string | null; status: string }[];
  mapping: Record<string, EventBattery> | null;
  changes: { change_id: string; kind: string }[];
}
export interface StudyOverview {
  study: StudyRecord;
  figures: OverviewFigures;
  windows: OverviewWindow[];
  events: OverviewEvent[];
  batteries: OverviewBattery[];
  members: Member[];
}

const DAYS = 'w.name, w.target_day, w.window_before, w.window_after, w.is_baseline';
const MEMBERS = `select u.id, u.name, u.email, u.role, u.status,
    coalesce((select jsonb_agg(s.site_code order by s.site_code) from user_sites a join sites s on s.id = a.site_id
      where a.user_id = u.id and s.study_id = $1), '[]') as sites
  from user_studies m join users u on u.id = m.user_id where m.study_id = $1 order by u.status, u.name, u.id limit $2`;

/** A study's overview in one round trip; `members` only for callers who may see users. */
export async function studyOverview(
  tx: Tx,
  studyId: string,
  { members }: { members: boolean },
): Promise<StudyOverview | undefined> {
  const [[study], [figures], windows, events, batteries, people] = await queryAll<
    [StudyRecord, OverviewFigures, OverviewWindow, OverviewEvent, OverviewBattery, Member]
  >(tx, [
    { sql: `select ${STUDY_COLUMNS} from studies where id = $1`, values: [studyId] },
    {
      sql: `select s.policy_version, (select count(*)::integer from participants p
        where p.study_id = s.id) as participants,
          coalesce((select jsonb_agg(jsonb_build_object('site_code', i.site_code, 'name', i.name, 'status', i.status)
            order by i.site_code) from sites i where i.study_id = s.id), '[]') as sites,
          (select c.event_battery_mapping from datacapture_configs c where c.study_id = s.id) as mapping,
          coalesce((select jsonb_agg(jsonb_build_object('change_id', o.change_id, 'kind', o.kind))
            from open_study_changes o where o.study_id = s.id), '[]') as changes
        from studies s where s.id = $1`,
      values: [studyId],
    },
    {
      sql: `select w.id, w.code, ${DAYS}, w.datacapture_event, b.name as battery from visit_windows w
        left join batteries b on b.id = w.battery_id where w.study_id = $1 order by w.sort_order, w.target_day, w.code`,
      values: [studyId],
    },
    {
      sql: `select w.id, w.event_oid, ${DAYS}, case when w.repeat_count is null
        then null else jsonb_build_object('count', w.repeat_count, 'every_days', w.repeat_every_days) end as repeating,
        b.name as battery
        from event_definitions w left join batteries b on b.id = w.battery_id where w.study_id = $1
          order by w.sort_order, w.target_day, w.event_oid`,
      values: [studyId],
    },
    {
      sql: `select b.id, b.code, b.name, b.status, b.published_version, (select count(*)::integer from battery_modules m
        where m.battery_id = b.id and m.version = b.version) as tasks from batteries b where b.study_id = $1
        order by b.code`,
      values: [studyId],
    },
    { sql: MEMBERS, values: [studyId, members ? 200 : 0] },
  ]);
  return study && { study, figures: figures!, windows, events, batteries, members: people };
}

/** The number of visible participants of each study. */
export async function participantsByStudy(tx: Tx, studyIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await query<{ study_id: string; participants: number }>(
    tx,
    'select study_id, count(*)::integer as participants from participants where study_id = any($1) group by study_id',
    [[...studyIds]],
  );
  return new Map(rows.map(({ study_id, participants }) => [study_id, participants]));
}
