import { isoTimestamp } from '../client/knex.js';
import { sessionStatus, shownSession, visitStatus } from '../scheduling/effective-status.js';
import { prepared } from '../client/query.js';
import type { Statement } from '../client/query.js';
import { hasEnded } from '../studies/study-ended.js';
import type { Tx } from '../client/database.js';

/** The sources of a participant's timeline entries. */
export const timelineKinds = [
  'participant',
  'consent',
  'eligibility',
  'randomization',
  'form',
  'trigger',
  'approval',
  'anchor',
  'schedule',
  'visit',
  'session',
  'push',
  'reminder',
] as const;
export type TimelineKind = (typeof timelineKinds)[number];

/** The import claims of an imported row: importer and the document's persons. */
const claimed = (row: string): string =>
  `case when ${row}.imported then jsonb_build_object('imported', true, 'imported_by', ${row}.imported_by, ` +
  `'original_users', ${row}.original_users) else '{}' end`;

/** One past or planned event; `what` is its type within its kind. */
export interface TimelineRow {
  at: string;
  kind: TimelineKind;
  what: string;
  id: string;
  data: Record<string, unknown>;
  planned: boolean;
}
/** `settledOnly`: of messages only sent ones. `nothingAhead`: no visit that is still to do. */
export interface TimelineFilter {
  kinds?: readonly TimelineKind[] | undefined;
  from?: string | undefined;
  to?: string | undefined;
  skip: number;
  limit: number;
  settledOnly?: boolean;
  nothingAhead?: boolean;
  newestFirst?: boolean;
}
export interface TimelineSubject {
  id: string;
  study_id: string;
  participant_code: string;
  status: string;
  preferred_language: string | null;
  study_code: string;
  study_name: string;
  /** The language of the study's messages to whom no other is known. */
  default_language: string | null;
  site_code: string | null;
  zone: string;
  enrollment_date: string | null;
  anchor_status: string;
  today: string;
  /** The study has ended: what its schedule has ahead is not to do any more. */
  study_ended: boolean;
}

/** `timelineSubject` as a statement. */
export const subjectStatement = (participantId: string): Statement => ({
  sql: `select p.id, p.study_id, p.participant_code, p.status, p.preferred_language, s.study_code, s.study_name,
    s.config #>> '{notifications,default_language}' as default_language, t.site_code,
    coalesce(t.timezone, s.timezone) as zone, p.enrollment_date,
       coalesce(a.status, 'unset') as anchor_status,
         (clock_timestamp() at time zone coalesce(t.timezone, s.timezone))::date as today,
       ${hasEnded('s')} as study_ended
     from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
       left join anchor_dates a on a.participant_id = p.id where p.id = $1`,
  values: [participantId],
});

/** The participant of a timeline; days are those of the participant's site, else of the study. */
export async function timelineSubject(tx: Tx, participantId: string): Promise<TimelineSubject | undefined> {
  const { sql, values } = subjectStatement(participantId);
  return (await prepared<TimelineSubject>(tx, sql, values))[0];
}

/*
 * Every source gives (at, rank, seq, kind, what, id, data, planned). Rank and seq order entries of one instant: a cause
 * comes before its effect. Of the participant's records it has only dates and states.
 */
const SOURCES = `
  select p.created_at as at, 0 as rank, 0::bigint as seq, 'participant' as kind, 'enrolled' as what, p.id,
    jsonb_build_object('participant_code', p.participant_code) as data, false as planned
    from participants p where p.id = $1
  union all select p.withdrawn_at, 0, 1, 'participant', 'withdrawn', p.id,
    jsonb_build_object('reason', p.withdrawal_reason), false from participants p
    where p.id = $1 and p.withdrawn_at is not null
  -- a withdrawal that was taken back is known by the event of that alone
  union all select (e.data->>'withdrawn_at')::timestamptz, 0, 1, 'participant', 'withdrawn', p.id,
    jsonb_build_object('reason', e.data->'withdrawal_reason'), false
    from domain_events e join participants p on p.id = e.participant_id
      where e.participant_id = $1 and e.type = 'PARTICIPANT_REINSTATED'
  union all select e.occurred_at, 0, 2, 'participant', 'reinstated', p.id,
    jsonb_build_object('reason', e.data->'reason'), false
    from domain_events e join participants p on p.id = e.participant_id
      where e.participant_id = $1 and e.type = 'PARTICIPANT_REINSTATED'
  union all select c.signed_at, 2, 0, 'consent', 'signed', c.id,
    jsonb_build_object('consent_version_id', c.consent_version_id, 'purpose', c.purpose, 'status',
    c.status) || ${claimed('c')}, false
    from consents c where c.participant_id = $1 and c.signed_at is not null
  union all select case c.status when 'pending' then c.created_at else coalesce(c.revoked_at, c.updated_at) end, 2, 1,
    'consent', c.status, c.id, jsonb_build_object('consent_version_id', c.consent_version_id, 'purpose', c.purpose,
    'status', c.status) || ${claimed('c')}, false
    from consents c where c.participant_id = $1 and c.status <> 'signed'
  union all select coalesce(e.confirmed_at, e.updated_at), 3, 0, 'eligibility', e.status, e.id,
    jsonb_build_object('status', e.status, 'has_waiver', e.has_waiver) || ${claimed('e')}, false
    from eligibility_assessments e where e.participant_id = $1
  union all select r.randomized_at, 4, 0, 'randomization', 'randomized', r.id,
    jsonb_build_object('arm', r.arm, 'stratum', r.stratum) || ${claimed('r')}, false from randomizations r
    where r.participant_id = $1
  union all select f.created_at, 1, 1, 'form', 'entered', f.id, jsonb_build_object('form_oid', f.form_oid, 'status',
    f.status, 'origin', f.origin) || ${claimed('f')}, false from form_instances f where f.participant_id = $1
  union all select f.signed_at, 1, 2, 'form', 'signed', f.id, jsonb_build_object('form_oid', f.form_oid, 'status',
    f.status, 'origin', f.origin, 'signed_by_id', f.signed_by_id, 'signature',
    f.signature) || ${claimed('f')} || case when f.imported
    then jsonb_build_object('signature_verified', f.signature_verified) else '{}' end, false from form_instances f
    where f.participant_id = $1 and f.signed_at is not null
  union all select f.locked_at, 1, 3, 'form', 'locked', f.id, jsonb_build_object('form_oid', f.form_oid, 'status',
    f.status, 'origin', f.origin) || ${claimed('f')}, false from form_instances f
    where f.participant_id = $1 and f.locked_at is not null
  union all select w.received_at, 1, w.seq, 'trigger', w.status, w.id,
    jsonb_build_object('record', w.record, 'instrument', w.instrument, 'event_name', w.event_name, 'status', w.status,
    'outcome', w.outcome, 'error', w.error, 'processed_at', w.processed_at, 'duplicate_of_id', w.duplicate_of_id), false
    from webhook_events w where w.participant_id = $1
  union all select o.requested_at, 5, 0, 'approval', 'requested', o.id,
    jsonb_build_object('previous_enrollment_date', o.previous_enrollment_date, 'new_enrollment_date',
    o.new_enrollment_date, 'reason', o.reason, 'requested_by_id', o.requested_by_id, 'expires_at', o.expires_at,
    'status', o.status) || ${claimed('o')}, false
    from override_requests o where o.participant_id = $1
  -- a decision bears the moment of what it did, which stands after it
  union all select least(o.decided_at, (select min(h.created_at) from anchor_date_history h
    where h.participant_id = $1 and h.event_type in ('OVERRIDE_GRANTED', 'OVERRIDE_DENIED')
    and h.created_at >= o.requested_at)), 5, 1, 'approval', o.status, o.id,
    jsonb_build_object('previous_enrollment_date', o.previous_enrollment_date, 'new_enrollment_date',
    o.new_enrollment_date, 'reason', o.decision_reason, 'decided_by_id', o.decided_by_id, 'requested_at',
    o.requested_at, 'status', o.status, 'signature', o.signature) || ${claimed('o')}, false
    from override_requests o where o.participant_id = $1 and o.decided_at is not null
  union all select h.created_at, 6, h.seq, 'anchor', h.event_type, h.id,
    jsonb_build_object('enrollment_date', h.enrollment_date_value, 'previous_enrollment_date',
    h.previous_enrollment_date, 'change_delta_days', h.change_delta_days, 'status_before', h.status_before,
      'status_after', h.status_after, 'source_type', h.source_type, 'anchor_version', h.anchor_version, 'actor_type',
        h.actor_type, 'actor_user_id', h.actor_user_id, 'reason', h.reason) || ${claimed('h')}, false
    from anchor_date_history h where h.participant_id = $1 and h.event_type not in ('OVERRIDE_REQUESTED',
      'OVERRIDE_DENIED')
  union all select v.generated_at, 7, v.version_number, 'schedule', 'generated', v.id,
    jsonb_build_object('version_number', v.version_number, 'anchor_date_used', v.anchor_date_used, 'visits_generated',
    v.visits_generated, 'status', v.status, 'is_current', v.is_current, 'warnings', v.generation_warnings), false
    from schedule_versions v where v.participant_id = $1
  union all select v.superseded_at, 7, 0, 'schedule', 'superseded', v.id,
    jsonb_build_object('version_number', v.version_number, 'reason', v.supersede_reason, 'superseded_by_id',
    v.superseded_by_id), false
    from schedule_versions v where v.participant_id = $1 and v.superseded_at is not null
  union all select case o.status when 'completed' then v.completed_at when 'missed'
    then ((v.window_close + 1)::timestamp at time zone $2)
        when 'cancelled' then coalesce((select max(x.changed_at) from visit_states x
          where x.participant_id = v.participant_id and x.visit_id = v.id and x.status = 'cancelled'), v.updated_at)
        else (v.target_date::timestamp at time zone $2) end,
      8, 0, 'visit', o.status, v.id, jsonb_build_object('name', v.name, 'visit_key', v.visit_key, 'status', o.status,
        'target_date', v.target_date, 'window_open', v.window_open, 'window_close', v.window_close, 'completed_at',
        v.completed_at,
        'data_sync_status', v.data_sync_status, 'needs_review', v.needs_review, 'anchor_reconciled',
          v.anchor_reconciled), o.status in ('scheduled', 'open')
    from scheduled_visits v join participants p on p.id = v.participant_id
      cross join lateral (select ${visitStatus('v', '(clock_timestamp() at time zone $2)::date', 'p.status')} as status)
      o where v.participant_id = $1 and v.status <> 'superseded'
  union all select coalesce(a.completed_at, a.started_at), 9, 0, 'session', ${sessionStatus('a')}, ${shownSession('a')},
    jsonb_build_object('status', ${sessionStatus('a')}, 'source', a.source, 'started_at', a.started_at, 'completed_at',
    a.completed_at, 'visit_id', a.visit_id, 'battery_id', a.battery_id, 'sync_status', a.sync_status), false
    from assessment_sessions a where a.participant_id = $1
  union all select u.at, 10, u.number, 'push', u.status, u.id, jsonb_build_object('session_id', u.session_id, 'attempt',
    u.number, 'status', u.status, 'error_type', u.error_type, 'message', u.message, 'records_imported',
    u.records_imported, 'next_attempt_at', u.next_attempt_at), false
    from push_attempts u join assessment_sessions a on a.id = u.session_id where a.participant_id = $1
  -- what was stopped before its time had come for this participant stands where that was decided
  union all select coalesce(n.sent_at, case when n.status = 'pending'
    then n.due_at else greatest(n.due_at, n.created_at) end), 11, 0, 'reminder', n.status, n.id,
    jsonb_build_object('notification_kind', n.kind, 'channel', n.channel, 'status', n.status, 'due_at', n.due_at,
    'sent_at', n.sent_at, 'visit_id', n.visit_id, 'visit_name', v.name, 'reason', n.reason), n.status = 'pending'
    from notifications n left join scheduled_visits v on v.id = n.visit_id
      where n.participant_id = $1 and n.user_id is null`;

/** Entries that are equal in all of these are the same: no page repeats or loses one. */
const ORDER = ['at', 'rank', 'seq', 'id', 'what', 'data'];

/** A participant's timeline, oldest first where the filter does not say otherwise, and how many entries there are. */
export async function listTimeline(
  tx: Tx,
  participant: { id: string; zone: string },
  filter: TimelineFilter,
): Promise<{ items: TimelineRow[]; total: number }> {
  const order = (alias: string) =>
    ORDER.map((column) => `${alias}${column} ${filter.newestFirst ? 'desc' : 'asc'}`).join(', ');
  const rows = await prepared<TimelineRow & { total: number }>(
    tx,
    `with found as materialized (
       select * from (${SOURCES}) t where ($3::text[] is null or kind = any ($3))
         and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)
         and (not $8::boolean or kind <> 'reminder' or what = 'sent')
         and (not $9::boolean or kind <> 'visit' or not planned))
     select f.at, f.kind, f.what, f.id, f.data, f.planned, c.total from (select count(*) as total from found) c
       left join lateral (select * from found order by ${order('')} offset $6 limit $7) f on true
         order by ${order('f.')}`,
    [
      participant.id,
      participant.zone,
      filter.kinds ?? null,
      filter.from ?? null,
      filter.to ?? null,
      filter.skip,
      filter.limit,
      filter.settledOnly ?? false,
      filter.nothingAhead ?? false,
    ],
  );
  const total = rows[0]!.total;
  return {
    total,
    items: rows
      .filter(({ id }) => id !== null)
      .map(({ total: _total, data, ...row }) => ({ ...row, data: withZ(data) })),
  };
}

/** The server writes instants inside of JSON with an offset. */
const withZ = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      name.endsWith('_at') && typeof value === 'string' ? isoTimestamp(value) : value,
    ]),
  );
