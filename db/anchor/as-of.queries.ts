import { visitStatus } from '../scheduling/effective-status.js';
import type { AnchorResponse } from './anchors.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface Existence {
  ahead: boolean;
  existed: boolean;
}

/** Whether an instant is after the database's current time, and whether the participant was on record then. */
export async function existenceAt(tx: Tx, participantId: string, asOf: string): Promise<Existence> {
  const rows = await query<Existence>(
    tx,
    `select $1::timestamptz > clock_timestamp() as ahead, exists (select from participants
      where id = $2 and created_at <= $3::timestamptz) as existed`,
    [asOf, participantId, asOf],
  );
  return rows[0]!;
}

/** The version that was current; in a gap between two there is none. */
const CURRENT = `select v.* from schedule_versions v, asked where v.participant_id = asked.participant_id
  and v.generated_at <= asked.at
  and (v.superseded_at is null or v.superseded_at > asked.at) order by v.version_number desc limit 1`;

/**
 * The anchor by the last history entry that changed it; what the entry lacks is in its decision. An entry of a pending
 * or denied override changes nothing.
 */
const ANCHOR_AS_OF = `
with asked as (select $1::uuid as participant_id, $2::timestamptz as at),
last as (
  select h.*, d.decision from asked join anchor_date_history h on h.participant_id = asked.participant_id
    and h.created_at <= asked.at
  left join anchor_decisions d on d.history_id = h.id
  where h.event_type not in ('OVERRIDE_REQUESTED', 'OVERRIDE_DENIED') order by h.seq desc limit 1
),
current as (${CURRENT})
select a.participant_id, l.enrollment_date_value as enrollment_date, l.enrollment_datetime_value as enrollment_datetime,
  case when s.has_value then l.precision else 'date' end as precision,
  l.decision->'value'->>'partial' as partial_value,
  case when s.has_value then l.timezone end as timezone,
  coalesce(l.status_after, 'unset') as status,
  case when s.has_value then l.source_type end as source_type,
  case when s.has_value then l.source_ref end as source_ref,
  s.is_override,
  case when s.is_override then l.reason end as override_reason,
  coalesce(l.anchor_version, 1) as version, c.id as current_schedule_version_id, a.created_at,
  greatest(a.created_at, l.created_at,
    (select max(greatest(v.generated_at, case when v.superseded_at <= asked.at then v.superseded_at end))
      from schedule_versions v
     where v.participant_id = asked.participant_id and v.generated_at <= asked.at)) as updated_at
from asked join anchor_dates a on a.participant_id = asked.participant_id
left join last l on true
left join current c on true
cross join lateral (select l.enrollment_date_value is not null as has_value,
  coalesce((l.decision->>'is_override')::boolean, false) as is_override) s`;

/** The anchor as it was believed to be at an instant, in the shape of today's. */
export async function readAnchorAsOf(tx: Tx, participantId: string, asOf: string): Promise<AnchorResponse | undefined> {
  return (await query<AnchorResponse>(tx, ANCHOR_AS_OF, [participantId, asOf]))[0];
}

export interface VersionThen extends Record<string, unknown> {
  id: string;
  scheduling_settings: { carried_visit_ids?: string[] };
}

/** The schedule version that was current at an instant, in its state then; undefined: there was none. */
export async function readVersionAsOf(tx: Tx, participantId: string, asOf: string): Promise<VersionThen | undefined> {
  const rows = await query<VersionThen>(
    tx,
    `with asked as (select $1::uuid as participant_id, $2::timestamptz as at) ${CURRENT}`,
    [participantId, asOf],
  );
  const version = rows[0];
  return (
    version && {
      ...version,
      is_current: true,
      status: 'active',
      superseded_at: null,
      supersede_reason: null,
      superseded_by_id: null,
    }
  );
}

/** The status of a visit then, by the date in its participant's time zone. */
const STATUS_THEN = visitStatus(
  's',
  '($3::timestamptz at time zone coalesce(t.timezone, y.timezone))::date',
  `case when p.withdrawn_at <= $3::timestamptz then 'withdrawn' else 'enrolled' end`,
);

/**
 * A version's visits, carried ones and those without a version, each in its state at an instant. Visits that did not
 * exist yet are left out.
 */
export async function readVisitsAsOf(
  tx: Tx,
  participantId: string,
  asOf: string,
  version: VersionThen | undefined,
): Promise<Record<string, unknown>[]> {
  const carried = version?.scheduling_settings.carried_visit_ids ?? [];
  return query<Record<string, unknown>>(
    tx,
    `select v.id, v.visit_key, v.study_id, v.participant_id, v.visit_window_id, v.schedule_version_id, v.is_baseline,
      v.event_definition_id, v.event_oid, v.event_occurrence,
       s.name, s.battery_id, s.datacapture_event, o.status, s.status_reason, s.target_date, s.window_open,
         s.window_close, s.completed_at, s.session_id,
       s.anchor_reconciled_at is not null as anchor_reconciled, s.anchor_reconciled_at, s.needs_review,
         s.reporting_target_date, v.created_at,
       s.changed_at as updated_at, v.id = any($1::uuid[]) as carried
     from (select distinct on (visit_id) * from visit_states where participant_id = $2 and changed_at <= $3::timestamptz
       order by visit_id, seq desc) s
     join scheduled_visits v on v.id = s.visit_id
     join participants p on p.id = v.participant_id join studies y on y.id = p.study_id
       left join sites t on t.id = p.site_id
     cross join lateral (select ${STATUS_THEN} as status) o
     where v.schedule_version_id is null or v.schedule_version_id = $4::uuid or v.id = any($1::uuid[])
     order by v.schedule_version_id is null, s.target_date, v.id`,
    [carried, participantId, asOf, version?.id ?? null],
  );
}
