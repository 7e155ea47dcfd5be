import type { Stage } from './stage.js';

/**
 * What must hold at every moment for every participant of a study, whatever was sent in whatever order; read from the
 * database in one statement. Answers what does not hold, in words.
 */
export async function brokenInvariants(stage: Stage, studyId: string): Promise<string[]> {
  const rows = await stage.sql<{ what: string; participant_id: string }>(
    `
    with p as (select id from participants where study_id = :study),
    v as (select participant_id, count(*) filter (where is_current) as current, count(*) as n, max(version_number) as top from schedule_versions where study_id = :study group by 1),
    h as (
      select participant_id, seq, anchor_version, status_before, status_after, event_type,
        anchor_version - lag(anchor_version, 1, 1) over w as step, lag(status_after, 1, 'unset') over w as was
      from anchor_date_history where study_id = :study window w as (partition by participant_id order by seq))
    select 'a final date without exactly one current version' as what, a.participant_id from anchor_dates a left join v using (participant_id)
      where a.study_id = :study and a.status = 'finalized' and coalesce(v.current, 0) <> 1
    union all select 'no date, but a current version', a.participant_id from anchor_dates a join v using (participant_id) where a.study_id = :study and a.status = 'unset' and v.current > 0
    union all select 'version numbers with a gap', participant_id from v where n <> top
    union all select 'more than one live visit of a visit_key', participant_id from scheduled_visits where study_id = :study and status not in ('superseded', 'cancelled') group by participant_id, visit_key having count(*) > 1
    union all select 'a visit to do that belongs to no current version', s.participant_id from scheduled_visits s join schedule_versions x on x.id = s.schedule_version_id
      where s.study_id = :study and not x.is_current and (s.status in ('scheduled', 'open')
        or (s.status = 'missed' and not exists (select from schedule_versions c where c.participant_id = s.participant_id and c.is_current and jsonb_exists(c.scheduling_settings->'carried_visit_ids', s.id::text))))
    union all select 'history with a gap in anchor_version: ' || event_type, participant_id from h where step <> case when event_type in ('OVERRIDE_REQUESTED', 'OVERRIDE_DENIED') then 0 else 1 end
    union all select 'history that does not continue from the state before: ' || event_type, participant_id from h where status_before <> was
    union all select 'the anchor is not at the version of its history', a.participant_id from anchor_dates a
      where a.study_id = :study and a.version <> coalesce((select max(anchor_version) from h where h.participant_id = a.participant_id), 1)
    union all select 'participant.enrollment_date does not mirror the anchor', a.participant_id from anchor_dates a join participants q on q.id = a.participant_id
      where a.study_id = :study and a.enrollment_date_value is distinct from q.enrollment_date
    union all select 'the anchor names another version than the current one', a.participant_id from anchor_dates a
      where a.study_id = :study and a.current_schedule_version_id is distinct from (select id from schedule_versions s where s.participant_id = a.participant_id and s.is_current)
    union all select 'a superseded version that does not name the one after it', s.participant_id from schedule_versions s join schedule_versions t on t.participant_id = s.participant_id and t.is_current
      where s.study_id = :study and not s.is_current and s.superseded_by_id is null
    union all select 'two pending override requests', participant_id from override_requests where study_id = :study and status = 'pending' group by participant_id having count(*) > 1
    union all select 'an entry without its decision', e.participant_id from anchor_date_history e where e.study_id = :study and not exists (select from anchor_decisions d where d.history_id = e.id)
  `,
    { study: studyId },
  );
  return rows.map((r) => `${r.participant_id}: ${r.what}`);
}
