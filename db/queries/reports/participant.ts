import type { Tx } from '../../knex.js';
import { ask } from './base.js';
import type { Asked } from './base.js';

/** Who a report is about: codes alone, nothing that names the person. */
export interface ReportedPerson {
  id: string; study_id: string; participant_code: string; external_id: string | null; site_code: string | null; arm: string | null; status: 'enrolled' | 'withdrawn';
  preferred_language: string | null; enrollment_date: string | null; withdrawn_at: string | null; created_at: string;
}

export async function reportedPerson(tx: Tx, id: string): Promise<ReportedPerson | undefined> {
  const { rows } = await tx.raw(
    `select p.id, p.study_id, p.participant_code, p.external_id, s.site_code, p.arm, p.status, p.preferred_language, p.enrollment_date, p.withdrawn_at, p.created_at
     from participants p left join sites s on s.id = p.site_id where p.id = ?`, [id]);
  return rows[0];
}

export interface ReportedSession {
  id: string; visit_id: string | null; battery_id: number | null; battery_version: number | null; language: string | null; status: string; source: string;
  started_at: string; completed_at: string | null; task_summaries: Record<string, Record<string, number>>; trial_count: number;
}

/** A participant's sessions with what their tasks say, oldest first; or one of them. */
export function reportedSessions(tx: Tx, asked: Asked, sessionId?: string): Promise<ReportedSession[]> {
  return ask<ReportedSession>(tx, asked, ['people', 'sessions'], `
    select s.id, a.visit_id, a.battery_id, a.battery_version, a.language, s.status, a.source, s.started_at, a.completed_at,
      coalesce(k.task_summaries, '{}') as task_summaries, coalesce(k.trial_count, 0)::integer as trial_count
    from sessions s join assessment_sessions a on a.id = s.id
    left join lateral (select jsonb_object_agg(t.task, t.summary) as task_summaries, sum(t.trial_count) as trial_count from session_tasks t where t.session_id = s.id) k on true
    ${sessionId ? 'where s.id = :session' : ''} order by s.started_at, s.id`, sessionId ? { session: sessionId } : {});
}

export interface MetricCourse { task: string; metric: string; points: { session_id: string; at: string; value: number }[] }

/** Each metric over time, in the order of the sessions: what the sessions say, turned round. */
export function coursesOf(sessions: readonly ReportedSession[]): MetricCourse[] {
  const courses = new Map<string, MetricCourse>();
  for (const { id, started_at, task_summaries } of sessions) {
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

/** The participant's current schedule version; undefined: there is none. */
export async function reportedSchedule(tx: Tx, participantId: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await tx.raw(
    `select id, version_number, is_current, anchor_date_used, anchor_version, scheduling_mode, status, visits_generated, generation_warnings, generated_at
     from schedule_versions where participant_id = ? and is_current`, [participantId]);
  return rows[0];
}
