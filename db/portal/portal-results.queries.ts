import { summarySource, taskSummary } from '../scheduling/effective-status.js';
import type { Listed, Page } from '../client/paging.js';
import { configValue } from '../studies/study-config.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface PortalResult {
  session_id: string;
  visit_id: string | null;
  visit_name: string | null;
  visit_code: string | null;
  completed_at: string;
  tasks: { task: string; metrics: Record<string, number>; summary_source: 'client' | 'computed' }[];
  /** The modules of the session's battery version, with the settings that describe their results. */
  modules: { task: string; name: string; title: unknown; properties: unknown }[] | null;
}

/** Which results a study shows its participants; default `none`. */
export async function resultsShared(tx: Tx, studyId: string): Promise<'none' | 'summary'> {
  return (await configValue(tx, studyId, 'portal_results')) === 'summary' ? 'summary' : 'none';
}

/**
 * The results of a participant's completed sessions, newest first; without sessions that were set aside or have none.
 */
export async function portalResults(
  tx: Tx,
  participantId: string,
  range: Pick<Page, 'skip' | 'limit'>,
): Promise<Listed<PortalResult>> {
  const found = `from assessment_sessions x where x.participant_id = $1 and x.status = 'completed'
    and exists (select from session_tasks t where t.session_id = x.id)`;
  const all = await query<PortalResult & { total: number }>(
    tx,
    `select t.total, x.* from (select count(*) as total ${found}) t left join lateral (
       select x.id as session_id, x.visit_id, v.name as visit_name, w.code as visit_code, x.completed_at,
         (select jsonb_agg(jsonb_build_object('task', k.task, 'metrics', ${taskSummary('k')}, 'summary_source',
           ${summarySource('k')}) order by k.task) from session_tasks k where k.session_id = x.id) as tasks,
         (select jsonb_agg(jsonb_build_object('task', m.task, 'name', m.name, 'title', m.settings -> 'title',
           'properties', m.settings #> '{result_schema,properties}') order by m.position)
          from battery_modules m where m.battery_id = x.battery_id and m.version = x.battery_version) as modules
       from (select x.* ${found} order by x.completed_at desc, x.id desc offset $2 limit $3) x
       left join scheduled_visits v on v.id = x.visit_id left join visit_windows w on w.id = v.visit_window_id) x
         on true
     order by x.completed_at desc, x.session_id desc`,
    [participantId, range.skip, range.limit],
  );
  return {
    items: all.filter(({ session_id }) => session_id !== null).map(({ total: _total, ...item }) => item),
    total: all[0]?.total ?? 0,
  };
}
