import {
  PRESENT_STATUS,
  shownSession,
  summarySource,
  taskSummary,
  visitStatus,
} from '../scheduling/effective-status.js';
import { TRIAL_ROWS } from '../assessment/trials.queries.js';
import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * The data sets of /api/v1. Every row is joined with its participant, so that isolation by site holds; no row has
 * identity fields: no email, telephone or date of birth.
 */
interface Dataset {
  columns: string;
  from: string;
  study: string;
  at: string;
  id: string;
  where?: string;
}

const PERSON = 'join participants p on p.id =';
const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const VISIT = `v.id, v.visit_key, v.participant_id, v.visit_window_id, v.schedule_version_id, v.name, v.battery_id,
  v.target_date, v.window_open, v.window_close, v.datacapture_event,
  (select ${PRESENT_STATUS} from studies y left join sites w on w.id = p.site_id where y.id = v.study_id) as status,
    v.completed_at, v.session_id, v.data_sync_status, v.anchor_reconciled, v.needs_review, v.reporting_target_date`;
const VERSION =
  'v.id, v.participant_id, p.participant_code, v.version_number, v.is_current, v.anchor_date_used, ' +
  'v.anchor_version, v.scheduling_mode, v.status, v.visits_generated, v.generated_at';

/** Of a session and of its tasks, by task. */
const remarksOfTasks = (column: string, own: string): string =>
  `(${own} || coalesce((select jsonb_agg(e.remark order by k.task, e.place) from session_tasks k
    cross join lateral jsonb_array_elements(k.${column}) with ordinality e(remark, place)
    where k.session_id = s.id), '[]'))`;

export const pageDatasets = {
  studies: {
    columns:
      'id, study_code, study_name, description, status, start_date, end_date, timezone, integration_mode, ' +
      'datacapture_enabled, consent_mode, config, created_at, updated_at',
    from: 'studies',
    study: 'id',
    at: 'created_at',
    id: 'id',
  },
  sites: {
    columns: 't.id, t.site_code, t.name, t.timezone, t.status',
    from: 'sites t',
    study: 't.study_id',
    at: 't.created_at',
    id: 't.id',
  },
  participants: {
    columns:
      'p.id, p.study_id, p.participant_code, p.external_id, p.site_id, t.site_code, p.preferred_language, ' +
      'p.status, p.enrollment_date, p.timezone, p.arm, p.withdrawn_at, p.created_at, p.updated_at',
    from: 'participants p left join sites t on t.id = p.site_id',
    study: 'p.study_id',
    at: 'p.created_at',
    id: 'p.id',
  },
  anchors: {
    columns: `a.participant_id, p.participant_code, a.enrollment_date_value as enrollment_date,
      a.enrollment_datetime_value as enrollment_datetime, a.precision, a.partial_value, a.timezone,
      a.status, a.source_type, a.source_ref, a.is_override, a.override_reason, a.version, a.current_schedule_version_id,
        a.created_at, a.updated_at`,
    from: `anchor_dates a ${PERSON} a.participant_id`,
    study: 'a.study_id',
    at: 'a.created_at',
    id: 'a.participant_id',
  },
  anchor_history: {
    columns:
      'h.id, h.participant_id, h.event_type, h.enrollment_date_value, h.status_before, h.status_after, ' +
      'h.source_type, h.previous_enrollment_date, h.change_delta_days, h.actor_user_id, h.actor_type, ' +
      'h.reason, h.schedule_version_created_id, h.anchor_version, h.created_at',
    from: `anchor_date_history h ${PERSON} h.participant_id`,
    study: 'h.study_id',
    at: 'h.created_at',
    id: 'h.id',
  },
  /** The current version of each participant, with its visits. */
  schedules: {
    columns: `${VERSION},
      coalesce((select jsonb_agg(jsonb_build_object('id', x.id, 'visit_key', x.visit_key, 'name', x.name,
      'target_date', x.target_date, 'window_open', x.window_open, 'window_close', x.window_close,
      'battery_id', x.battery_id, 'status',
        (select ${visitStatus('x', '(now() at time zone coalesce(w.timezone, y.timezone))::date', 'p.status')}
        from studies y left join sites w on w.id = p.site_id where y.id = v.study_id), 'completed_at',
        ${iso('x.completed_at')}, 'carried', x.schedule_version_id is distinct from v.id)
      order by x.target_date, x.id) from scheduled_visits x where x.participant_id = v.participant_id
        and x.status not in ('superseded', 'cancelled')
        and (x.schedule_version_id = v.id or x.status = 'completed'
          or jsonb_exists(v.scheduling_settings->'carried_visit_ids', x.id::text))), '[]') as visits`,
    from: `schedule_versions v ${PERSON} v.participant_id`,
    study: 'v.study_id',
    at: 'v.generated_at',
    id: 'v.id',
    where: 'v.is_current',
  },
  schedule_versions: {
    columns: `${VERSION}, v.superseded_at, v.supersede_reason`,
    from: `schedule_versions v ${PERSON} v.participant_id`,
    study: 'v.study_id',
    at: 'v.generated_at',
    id: 'v.id',
  },
  visits: {
    columns: VISIT,
    from: `scheduled_visits v ${PERSON} v.participant_id`,
    study: 'v.study_id',
    at: 'v.created_at',
    id: 'v.id',
    where: `v.status not in ('superseded', 'cancelled')`,
  },
  all_visits: {
    columns: VISIT,
    from: `scheduled_visits v ${PERSON} v.participant_id`,
    study: 'v.study_id',
    at: 'v.created_at',
    id: 'v.id',
  },
  sessions: {
    columns: `${shownSession('s')} as id, s.participant_id, p.participant_code, s.visit_id, s.battery_id,
      s.battery_version, s.language,
      case when s.status = 'active' and s.source = 'online' and s.expires_at <= now()
        then 'expired' else s.status end as status, s.source, s.device_id, s.clock_skew_ms,
      s.started_at, s.completed_at, s.timezone, s.sync_status,
      ${remarksOfTasks('quality_flags', 's.quality_flags')} as quality_flags,
      ${remarksOfTasks('warnings', `'[]'::jsonb`)} as warnings,
      coalesce((select jsonb_object_agg(k.task, ${taskSummary('k')}) from session_tasks k where k.session_id = s.id),
        '{}') as task_summaries,
      coalesce((select jsonb_object_agg(k.task, ${summarySource('k')}) from session_tasks k where k.session_id = s.id),
        '{}') as summary_sources,
      coalesce((select sum(k.trial_count) from session_tasks k where k.session_id = s.id), 0)::integer as trial_count,
        s.created_at, s.updated_at`,
    from: `assessment_sessions s ${PERSON} s.participant_id`,
    study: 's.study_id',
    at: 's.created_at',
    id: 's.id',
  },
  raw_trials: {
    columns:
      `${shownSession('s')} as session_id, x.task, x.trial_index, x.rt, x.correct, x.at as timestamp, x.data, ` +
      'x.practice',
    from: `(${TRIAL_ROWS}) x join assessment_sessions s on s.id = x.session_id ${PERSON} s.participant_id`,
    study: 'x.study_id',
    at: 's.created_at',
    id: 'x.session_id, x.task, x.seq',
  },
} as const satisfies Record<string, Dataset>;
export type PageDatasetName = keyof typeof pageDatasets;
export type DatasetRow = Record<string, unknown>;

export interface Window {
  after?: readonly string[] | undefined;
  skip: number;
  limit: number;
}

/**
 * A page in order of creation, with the cursor of its last row if more follow; rows added meanwhile come at the end.
 */
export async function datasetPage(
  tx: Tx,
  name: PageDatasetName,
  studyId: string | undefined,
  { after, skip, limit }: Window,
): Promise<{ items: DatasetRow[]; total: number; last: string[] | undefined }> {
  const { columns, from, study, at, id, where }: Dataset = pageDatasets[name];
  const values: unknown[] = [];
  const value = (input: unknown) => `$${values.push(input)}`;
  const all = `from ${from} where ${where ?? 'true'}${studyId ? ` and ${study} = ${value(studyId)}` : ''}`;
  const [counted] = await query<{ count: number }>(tx, `select count(*) as count ${all}`, [...values]);
  const behind = after ? ` and (${at}, ${id}) > (${value(after[0])}::timestamptz, ${value(after[1])}::uuid)` : '';
  const rows = await query<DatasetRow & { place_at: string; place_id: string }>(
    tx,
    `select ${columns}, ${at} as "place_at", ${id} as "place_id" ${all}${behind}
      order by ${at}, ${id} offset ${value(skip)} limit ${value(limit + 1)}`,
    values,
  );
  const shown = rows.slice(0, limit);
  const end = rows.length > limit ? shown.at(-1) : undefined;
  const last = end && [end.place_at, end.place_id];
  return { items: shown.map(({ place_at: _at, place_id: _id, ...row }) => row), total: counted!.count, last };
}

/** All rows of a set in order, some hundreds at a time, in the transaction's snapshot. */
export async function* datasetRows(
  tx: Tx,
  name: PageDatasetName,
  studyId: string,
  batch = 500,
): AsyncGenerator<DatasetRow[]> {
  const { columns, from, study, at, id, where }: Dataset = pageDatasets[name];
  await execute(
    tx,
    `declare rows_of_${name} no scroll cursor for select ${columns} from ${from}
      where ${where ?? 'true'} and ${study} = $1 order by ${at}, ${id}`,
    [studyId],
  );
  for (;;) {
    const rows = await query<DatasetRow>(tx, `fetch ${batch} from rows_of_${name}`);
    if (rows.length > 0) yield rows;
    if (rows.length < batch) break;
  }
  await execute(tx, `close rows_of_${name}`);
}

export interface AuditChainHead {
  chain: string;
  seq: number;
  hash: string;
}

/** The time of the transaction, and the head of the study's audit chain then. */
export async function momentOf(tx: Tx, studyId: string): Promise<{ at: string; audit_head: AuditChainHead | null }> {
  const rows = await query<{ at: string; chain: string | null; seq: number; head: string }>(
    tx,
    `select transaction_timestamp() as at, c.chain, c.seq, c.head from (select 1) one
      left join audit_chains c on c.study_id = $1`,
    [studyId],
  );
  const row = rows[0];
  return {
    at: row!.at,
    audit_head: row!.chain === null ? null : { chain: row!.chain, seq: row!.seq, hash: row!.head },
  };
}
