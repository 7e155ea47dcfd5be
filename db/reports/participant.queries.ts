import { isSetAside, shownSession, summarySource, taskSummary } from '../scheduling/effective-status.js';
import { queryAll } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { anchorStatement } from '../anchor/anchors.queries.js';
import type { AnchorResponse } from '../anchor/anchors.queries.js';
import { question } from './base.queries.js';
import type { ReportScope, ReportFilter } from './base.queries.js';
import { visitsOfOne } from './visits.queries.js';
import type { ReportedVisit } from './visits.queries.js';
import type { Tx } from '../client/database.js';

/** The subject of a report: codes only, nothing that names the person. */
export interface ReportedPerson {
  id: string;
  study_id: string;
  participant_code: string;
  external_id: string | null;
  site_code: string | null;
  arm: string | null;
  status: 'enrolled' | 'withdrawn';
  preferred_language: string | null;
  enrollment_date: string | null;
  withdrawn_at: string | null;
  created_at: string;
}

const personOf = (id: string): Statement => ({
  sql: `select p.id, p.study_id, p.participant_code, p.external_id, s.site_code, p.arm, p.status, p.preferred_language,
    p.enrollment_date, p.withdrawn_at, p.created_at
    from participants p left join sites s on s.id = p.site_id where p.id = $1`,
  values: [id],
});

export interface ReportedSession {
  id: string;
  visit_id: string | null;
  battery_id: number | null;
  battery_version: number | null;
  language: string | null;
  status: string;
  source: string;
  started_at: string;
  completed_at: string | null;
  task_summaries: Record<string, Record<string, number>>;
  summary_sources: Record<string, 'client' | 'computed'>;
  trial_count: number;
}
interface SessionRead extends ReportedSession {
  /** By the resolution of a sync conflict: its results are no part of a course. */
  set_aside: boolean;
}

/** A participant's sessions with their tasks' results, oldest first; or one of them. */
function sessionsOf(asked: ReportScope, sessionId?: string): Statement {
  return question(
    asked,
    ['people', 'sessions'],
    `
    select ${shownSession('a')} as id, a.visit_id, a.battery_id, a.battery_version, a.language, s.status, a.source,
      s.started_at, a.completed_at,
      coalesce(k.task_summaries, '{}') as task_summaries, coalesce(k.summary_sources, '{}') as summary_sources,
        coalesce(k.trial_count, 0)::integer as trial_count, ${isSetAside('a')} as set_aside
    from sessions s join assessment_sessions a on a.id = s.id
    left join lateral (select jsonb_object_agg(t.task, ${taskSummary('t')}) as task_summaries,
      jsonb_object_agg(t.task, ${summarySource('t')}) as summary_sources, sum(t.trial_count) as trial_count
      from session_tasks t where t.session_id = s.id) k on true
    ${sessionId ? 'where s.id = :session' : ''} order by s.started_at, s.id`,
    sessionId ? { session: sessionId } : {},
  );
}

export interface MetricCourse {
  task: string;
  metric: string;
  points: { session_id: string; at: string; value: number }[];
}

/** Each metric over time, in the order of the sessions that count: the pivoted results. */
function coursesOf(sessions: readonly SessionRead[]): MetricCourse[] {
  const courses = new Map<string, MetricCourse>();
  for (const { id, started_at, task_summaries, set_aside } of sessions) {
    if (set_aside) continue;
    for (const [task, summary] of Object.entries(task_summaries)) {
      for (const [metric, value] of Object.entries(summary)) {
        if (typeof value !== 'number') continue;
        const key = `${task}\u0000${metric}`;
        const course = courses.get(key) ?? { task, metric, points: [] };
        course.points.push({ session_id: id, at: started_at, value });
        courses.set(key, course);
      }
    }
  }
  return [...courses.keys()].sort().map((key) => courses.get(key)!);
}

const shown = ({ set_aside: _, ...session }: SessionRead): ReportedSession => session;

/** The current schedule version, if there is one. */
const scheduleOf = (participantId: string): Statement => ({
  sql: `select id, version_number, is_current, anchor_date_used, anchor_version, scheduling_mode, status,
    visits_generated, generation_warnings, generated_at
    from schedule_versions where participant_id = $1 and is_current`,
  values: [participantId],
});

export interface ReportedParticipant {
  identity: ReportedPerson;
  anchor: AnchorResponse;
  schedule: Record<string, unknown> | null;
  visits: ReportedVisit[];
  sessions: ReportedSession[];
  metrics: MetricCourse[];
}

type PartsOfReport = [ReportedPerson[], AnchorResponse[], Record<string, unknown>[], ReportedVisit[], SessionRead[]];

/** The statements of a participant's report. */
export function participantStatements(
  id: string,
  { from, to }: Pick<ReportFilter, 'from' | 'to'>,
): readonly Statement[] {
  const asked: ReportScope = { study: null, participant: id, from, to };
  return [personOf(id), anchorStatement(id), scheduleOf(id), visitsOfOne(asked), sessionsOf(asked)];
}

/** Their rows, in an open transaction. */
export const participantRows = async (
  tx: Tx,
  id: string,
  filter: Pick<ReportFilter, 'from' | 'to'>,
): Promise<unknown[][]> => queryAll<unknown[]>(tx, [...participantStatements(id, filter)]);

/** The report from the rows of `participantStatements`. Undefined: no such participant is visible. */
export function reportedParticipant(rows: readonly unknown[][]): ReportedParticipant | undefined {
  const [[identity], [anchor], [schedule], visits, sessions] = rows as unknown as PartsOfReport;
  return (
    identity && {
      identity,
      anchor: anchor!,
      schedule: schedule ?? null,
      visits,
      sessions: sessions.map(shown),
      metrics: coursesOf(sessions),
    }
  );
}

/** One session and its participant. Undefined: none is visible. */
export async function reportedSession(
  tx: Tx,
  participantId: string,
  sessionId: string,
): Promise<{ identity: ReportedPerson; session: ReportedSession } | undefined> {
  const [[identity], [session]] = await queryAll<[ReportedPerson, SessionRead]>(tx, [
    personOf(participantId),
    sessionsOf({ study: null, participant: participantId }, sessionId),
  ]);
  return identity && session && { identity, session: shown(session) };
}
