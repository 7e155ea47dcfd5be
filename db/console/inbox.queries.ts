import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** Kinds of work that needs a person, in the console's order. */
export const INBOX_KINDS = [
  'approval',
  'override_required',
  'push',
  'trigger',
  'conflict',
  'review',
  'workflow',
] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

/** The details of each kind. */
export interface InboxDetails {
  /** `policy`: the part of the study's policy that says who approves. */
  approval: { from: string; to: string; asker_id: string | null; policy: object | null };
  override_required: { date: string; other: string | null };
  push: { error_type: string | null; message: string | null; visit: string | null };
  trigger: { record: string; instrument: string; error: string | null };
  conflict: { conflict_type: string; task: string | null };
  review: { name: string; target_date: string };
  workflow: { workflow_id: string; workflow_type: string; problem: string; seen_at: string };
}
export type InboxRow = {
  [K in InboxKind]: {
    kind: K;
    id: string;
    since: string;
    due: string | null;
    study_id: string | null;
    study_code: string | null;
    participant_id: string | null;
    participant_code: string | null;
    site_id: string | null;
    site_code: string | null;
    detail: InboxDetails[K];
  };
}[InboxKind];

/** The number of items of a kind at a place. */
export interface InboxFacet {
  kind: InboxKind;
  study_id: string | null;
  study_code: string | null;
  site_id: string | null;
  site_code: string | null;
  n: number;
}

/*
 * A date from the capture system for a finalized anchor stays open until an override is requested, the anchor is
 * decided again, or the capture system has the anchor's date again.
 */
const OVERRIDE_REQUIRED = `
select 'override_required', n.id, n.at, null::timestamptz, n.study_id, n.participant_id,
  jsonb_build_object('date', a.enrollment_date_value, 'other', x.other)
  from (select distinct on (participant_id) * from (
      select id::text, study_id, participant_id, processed_at as at from webhook_events
       where outcome = 'override_required' and participant_id is not null and processed_at is not null
      union all
      select r.sync_id || '/' || r.participant_id, r.study_id, r.participant_id, coalesce(y.finished_at, y.started_at)
        from datacapture_sync_records r join datacapture_syncs y on y.id = r.sync_id
       where r.outcome = 'override_required' and r.participant_id is not null) told
    order by participant_id, at desc) n
  join participants o on o.id = n.participant_id and o.status = 'enrolled'
  join anchor_dates a on a.participant_id = n.participant_id and a.status = 'finalized'
  left join datacapture_configs c on c.study_id = n.study_id
  left join lateral (
    select f.items ->> coalesce(c.participant_field_mapping ->> 'enrollment_date', a.source_ref ->> 'item_oid') as other
      from form_instances f where f.participant_id = n.participant_id and f.origin = 'datacapture'
        and f.form_oid = c.enrollment_instrument
     order by f.created_at desc limit 1) x on true
 where a.finalized_at <= n.at and coalesce(a.override_at <= n.at, true)
   and left(x.other, 10) is distinct from a.enrollment_date_value::text
   and not exists (select from override_requests q where q.participant_id = n.participant_id
     and q.requested_at > n.at)`;

/** Each kind as rows (kind, id, since, due, study_id, participant_id, detail). */
const SOURCES: Record<InboxKind, string> = {
  approval: `
select 'approval' as kind, o.id::text as id, o.requested_at as since, o.expires_at as due, o.study_id, o.participant_id,
  jsonb_build_object('from', o.previous_enrollment_date, 'to', o.new_enrollment_date, 'asker_id', o.requested_by_id,
    'policy', (select jsonb_build_object('permissions', e.policy -> 'permissions') from enrollment_policies e
      where e.study_id = s.id and e.policy_version = s.policy_version)) as detail
  from override_requests o join studies s on s.id = o.study_id where o.status = 'pending'`,
  override_required: OVERRIDE_REQUIRED,
  push: `
select 'push', r.session_id::text, r.updated_at, null::timestamptz, r.study_id, r.participant_id,
  jsonb_build_object('error_type', r.error_type, 'message', r.message, 'visit', v.name)
  from result_pushes r join assessment_sessions s on s.id = r.session_id
    left join scheduled_visits v on v.id = s.visit_id
 where r.status = 'failed' and s.status = 'completed'`,
  trigger: `
select 'trigger', e.id::text, coalesce(e.processed_at, e.received_at), null::timestamptz, e.study_id, e.participant_id,
  jsonb_build_object('record', e.record, 'instrument', e.instrument, 'error', e.error)
  from webhook_events e where e.status = 'failed'`,
  conflict: `
select 'conflict', k.id::text, k.detected_at, null::timestamptz, k.study_id, k.participant_id,
  jsonb_build_object('conflict_type', k.conflict_type, 'task', k.task)
  from sync_conflicts k where k.status = 'open'`,
  review: `
select 'review', v.id::text, coalesce(v.anchor_reconciled_at, v.updated_at), null::timestamptz, v.study_id,
  v.participant_id,
  jsonb_build_object('name', v.name, 'target_date', v.target_date)
  from scheduled_visits v where v.needs_review`,
  workflow: `
select 'workflow', f.run_id::text, f.found_at, null::timestamptz, null::uuid,
  substring(f.workflow_id from '^participant-anchor/([0-9a-f-]{36})$')::uuid,
  jsonb_build_object('workflow_id', f.workflow_id, 'workflow_type', f.workflow_type, 'problem', f.problem, 'seen_at',
    f.seen_at)
  from failing_workflows f`,
};

/** The visible items of some kinds: a participant's through the participant, so that isolation by site holds. */
const waiting = (kinds: readonly InboxKind[]): string => `
  from (select null::text as kind, null::text as id, null::timestamptz as since, null::timestamptz as due,
    null::uuid as study_id,
      null::uuid as participant_id, null::jsonb as detail where false
    ${kinds.map((kind) => `union all ${SOURCES[kind]}`).join('\n')}) i
  left join participants p on p.id = i.participant_id
  left join sites w on w.id = p.site_id
  left join studies y on y.id = coalesce(i.study_id, p.study_id)
 where i.participant_id is null or p.id is not null or i.kind = 'workflow'`;

const allOf = (kinds: readonly InboxKind[]): InboxKind[] => INBOX_KINDS.filter((kind) => kinds.includes(kind));

/** The open items of these kinds, oldest first. */
export async function inboxRows(
  tx: Tx,
  kinds: readonly InboxKind[],
  filter: { studyId?: string | undefined; siteId?: string | undefined; skip: number; limit: number },
): Promise<InboxRow[]> {
  return query<InboxRow>(
    tx,
    `select i.kind, i.id, i.since, i.due, y.id as study_id, y.study_code, p.id as participant_id, p.participant_code,
      w.id as site_id, w.site_code, i.detail
     ${waiting(allOf(kinds))} and ($1::uuid is null or y.id = $1) and ($2::uuid is null or w.id = $2)
     order by i.since, i.kind, i.id offset $3 limit $4`,
    [filter.studyId ?? null, filter.siteId ?? null, filter.skip, filter.limit],
  );
}

/** The number of open items by kind, study and site. */
export async function inboxFacets(tx: Tx, kinds: readonly InboxKind[]): Promise<InboxFacet[]> {
  return query<InboxFacet>(
    tx,
    `select i.kind, y.id as study_id, y.study_code, w.id as site_id, w.site_code, count(*)::int as n
     ${waiting(allOf(kinds))} group by 1, 2, 3, 4, 5 order by y.study_code, w.site_code`,
  );
}

/** The number of all open items. */
export async function inboxSize(tx: Tx, kinds: readonly InboxKind[]): Promise<number> {
  const rows = await query<{ n: number }>(tx, `select count(*)::int as n ${waiting(allOf(kinds))}`);
  return rows[0]!.n;
}

/** The status of a retried push; undefined: none that the caller may see. */
export async function pushStatus(tx: Tx, sessionId: string): Promise<string | undefined> {
  const rows = await query<{ status: string }>(
    tx,
    'select r.status from result_pushes r join participants p on p.id = r.participant_id where r.session_id = $1',
    [sessionId],
  );
  return rows[0]?.status;
}

/** The status of a retried trigger; undefined: none that the caller may see. */
export async function triggerStatus(tx: Tx, id: string): Promise<string | undefined> {
  const rows = await query<{ status: string }>(
    tx,
    `select e.status from webhook_events e left join participants p on p.id = e.participant_id
      where e.id = $1 and (e.participant_id is null or p.id is not null)`,
    [id],
  );
  return rows[0]?.status;
}

/** The study of a conflict that the caller may see. */
export async function studyOfConflict(tx: Tx, id: string): Promise<string | undefined> {
  const rows = await query<{ study_id: string }>(
    tx,
    'select k.study_id from sync_conflicts k join participants p on p.id = k.participant_id where k.id = $1',
    [id],
  );
  return rows[0]?.study_id;
}
