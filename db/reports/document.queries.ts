import { summarySource, taskSummary } from '../scheduling/effective-status.js';
import { DUE, askOfAll } from './base.queries.js';
import type { ReportScope } from './base.queries.js';
import { tallied } from './tally.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface AdherenceCell {
  site_code: string | null;
  code: string;
  name: string;
  due: number;
  in_window: number;
}

/** Adherence of each site in each window of the plan, for a heat map. */
export async function adherenceMap(tx: Tx, asked: ReportScope): Promise<AdherenceCell[]> {
  return askOfAll<AdherenceCell>(
    tx,
    asked,
    [],
    `with ${await tallied(tx, asked, { by: ['window', 'site'] })}
    select j.site_code, coalesce(w.code, e.event_oid) as code, coalesce(w.name, e.name) as name,
      coalesce(sum(n) filter (where ${DUE}), 0)::integer as due, coalesce(sum(n) filter (where adherence = 'in_window'),
        0)::integer as in_window
    from tallied j left join visit_windows w on w.id = j.visit_window_id
      left join event_definitions e on e.id = j.event_definition_id
    where coalesce(w.id, e.id) is not null and j.status <> 'superseded'
    group by 1, 2, 3, coalesce(w.sort_order, e.sort_order), coalesce(w.target_day, e.target_day)
    order by coalesce(w.sort_order, e.sort_order), coalesce(w.target_day, e.target_day), 2, 1 nulls last`,
  );
}

/** The current head of a study's audit chain: a report names it, so that it can be compared with the log later. */
export async function auditHead(tx: Tx, studyId: string): Promise<{ seq: number; head: string }> {
  const chain = (await tx('audit_chains').where({ study_id: studyId }).first('seq', 'head')) as
    { seq: number; head: string } | undefined;
  return chain ?? { seq: 0, head: '' };
}

export interface ReportedStudy {
  id: string;
  study_code: string;
  study_name: string;
  status: string;
  start_date: string | null;
  end_date: string | null;
  timezone: string;
}

export async function studyHead(tx: Tx, studyId: string): Promise<ReportedStudy | undefined> {
  const rows = await query<ReportedStudy>(
    tx,
    'select id, study_code, study_name, status, start_date, end_date, timezone from studies where id = $1',
    [studyId],
  );
  return rows[0];
}

export interface SessionTask {
  task: string;
  summary: Record<string, number>;
  summary_source: 'client' | 'computed';
  computed_summary: Record<string, number>;
  quality_flags: unknown[];
  trial_count: number;
}

/** The results and trials of a session's tasks, task by task. */
export const sessionTasks = (tx: Tx, sessionId: string): Promise<SessionTask[]> =>
  tx('session_tasks as t')
    .where({ session_id: sessionId })
    .orderBy('task')
    .select(
      'task',
      tx.raw(`${taskSummary('t')} as summary`),
      tx.raw(`${summarySource('t')} as summary_source`),
      'computed_summary',
      'quality_flags',
      'trial_count',
    );

/**
 * A session of the study by its id, or its public one while it is active, with its participant and its day in the
 * site's time zone; undefined: none is visible.
 */
export async function sessionOfStudy(
  tx: Tx,
  studyId: string,
  sessionId: string,
): Promise<{ id: string; participant_id: string; day: string } | undefined> {
  const rows = await query<{ id: string; participant_id: string; day: string }>(
    tx,
    `select s.id, s.participant_id, (s.started_at at time zone coalesce(t.timezone, y.timezone))::date as day
      from assessment_sessions s join participants p on p.id = s.participant_id join studies y on y.id = s.study_id
        left join sites t on t.id = p.site_id
      where s.study_id = $2 and (s.id = $1
        or s.status = 'active' and s.source = 'online' and session_public_id(s.id) = $1
        or s.status = 'active' and s.source = 'offline' and session_public_id(s.id) = $1)`,
    [sessionId, studyId],
  );
  return rows[0];
}
