import { putOutbox } from '../outbox/outbox.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * Queues today's summary (UTC) for each active user of an active study: one for each user, study and day, however often
 * this runs.
 * @returns the new notifications
 */
export async function queueDailySummaries(tx: Tx): Promise<{ id: string; study_id: string }[]> {
  const rows = await query<{ id: string; study_id: string }>(
    tx,
    `insert into notifications (study_id, user_id, kind, channel, dedupe_key)
     select s.id, u.id, 'daily_summary', 'email',
       'daily_summary:' || s.id || ':' || u.id || ':' || (now() at time zone 'UTC')::date
     from studies s join user_studies a on a.study_id = s.id join users u on u.id = a.user_id
     where s.status = 'active' and u.status = 'active' order by s.id, u.id
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id, study_id`,
  );
  const made = rows;
  await putOutbox(
    tx,
    made.map(({ id, study_id }) => ({ topic: 'notification', studyId: study_id, subject: id })),
  );
  return made;
}

export interface SummaryVisit {
  participant_code: string;
  name: string;
  target_date: string;
  window_close: string;
}
/**
 * Groups of open visits: the target is today; the window opens today, or closes soon; the target is past and the window
 * still open; the window closed lately. A visit may be in several.
 */
export const SUMMARY_GROUPS = ['due_today', 'opening', 'closing', 'past_target', 'closed'] as const;
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number];

export interface DailySummary {
  study_code: string;
  study_name: string;
  default_language: string | null;
  today: string;
  yesterday: {
    enrolled: number;
    withdrawn: number;
    visits_completed: number;
    visits_missed: number;
    sessions_completed: number;
  };
  failed_syncs: number;
  pending_approvals: number;
  /** Open visits, grouped by their dates relative to today. */
  visits: Record<SummaryGroup, { total: number; first: SummaryVisit[] }>;
  /** Completed visits on each of the last fourteen days, oldest first. */
  completed_by_day: { day: string; completed: number }[];
}

const MAX_LISTED = 20;
/** Windows that close, or closed, within this many days are listed. */
export const SOON_DAYS = 3;
export const LATELY_DAYS = 14;

/** For each group the condition on a visit `v`, with `v.today` at its place, and the order of its visits. */
const GROUPS: Record<SummaryGroup, [is: string, order: string]> = {
  due_today: ['v.target_date = v.today', 'v.participant_code, v.name'],
  opening: ['v.window_open = v.today', 'v.participant_code, v.name'],
  closing: [
    `v.window_close between v.today and v.today + ${SOON_DAYS} and v.window_open <= v.today`,
    'v.window_close, v.participant_code',
  ],
  past_target: ['v.target_date < v.today and v.window_close >= v.today', 'v.window_close, v.participant_code'],
  closed: [
    `v.window_close < v.today and v.window_close >= v.today - ${LATELY_DAYS}`,
    'v.window_close desc, v.participant_code',
  ],
};
const groupSql = (group: SummaryGroup): string => {
  const [is, order] = GROUPS[group];
  const some = `from v where ${is} and v.to_do`;
  return `'${group}', jsonb_build_object('total', (select count(*) ${some}), 'first',
    coalesce((select jsonb_agg(to_jsonb(l)) from (
    select v.participant_code, v.name, v.target_date, v.window_close ${some} order by ${order} limit $2) l), '[]'))`;
};

/**
 * The content of a study's morning summary. Visits count by the calendar of their site or study, all else by the
 * study's. The transaction is narrowed to the recipient: it decides which participants count.
 */
export async function readDailySummary(tx: Tx, studyId: string): Promise<DailySummary | undefined> {
  const rows = await query<DailySummary>(
    tx,
    `with s as materialized (select id, study_code, study_name, timezone, (now() at time zone timezone)::date as today,
        config #>> '{notifications,default_language}' as default_language from studies where id = $1),
     v as materialized (
       select x.*, p.participant_code, p.status as participant_status, z.today,
         (x.completed_at at time zone z.zone)::date as completed_on,
         -- by its dates: the job that notes a missed visit may come later
         x.status in ('scheduled', 'open', 'missed') and p.status = 'enrolled' as to_do
       from scheduled_visits x join participants p on p.id = x.participant_id cross join s
         left join sites w on w.id = p.site_id
         cross join lateral (select coalesce(w.timezone, s.timezone) as zone,
           (now() at time zone coalesce(w.timezone, s.timezone))::date as today) z
       where x.study_id = s.id and x.status not in ('superseded', 'cancelled'))
     select s.study_code, s.study_name, s.default_language, s.today,
       jsonb_build_object(
         'enrolled', (select count(*) from participants p
           where p.study_id = s.id and (p.created_at at time zone s.timezone)::date = s.today - 1),
         'withdrawn', (select count(*) from participants p
           where p.study_id = s.id and (p.withdrawn_at at time zone s.timezone)::date = s.today - 1),
         'visits_completed', (select count(*) from v where v.completed_on = v.today - 1),
         'visits_missed', (select count(*) from v where v.to_do and v.window_close = v.today - 2),
         'sessions_completed', (select count(*) from assessment_sessions a
           where a.study_id = s.id and (a.completed_at at time zone s.timezone)::date = s.today - 1
            and exists (select from participants p where p.id = a.participant_id))) as yesterday,
       (select count(*) from v where v.data_sync_status = 'failed') as failed_syncs,
       (select count(*) from override_requests o join participants p on p.id = o.participant_id
         where o.study_id = s.id and o.status = 'pending') as pending_approvals,
       jsonb_build_object(${SUMMARY_GROUPS.map(groupSql).join(', ')}) as visits,
       (select jsonb_agg(jsonb_build_object('day', d.day, 'completed', (select count(*) from v
         where v.completed_on = d.day)) order by d.day)
          from (select s.today - k as day from generate_series(1, 14) k) d) as completed_by_day
     from s`,
    [studyId, MAX_LISTED],
  );
  return rows[0];
}
