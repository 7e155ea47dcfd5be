import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * The stored facts about a participant's anchor; `Facts` in workflows/domain/anchor/facts.ts are built from it.
 * Timestamps are ISO 8601.
 */
export interface FactRow {
  participant_id: string;
  study_id: string;
  site_id: string | null;
  /** For operators; not a fact. */
  participant_code: string;
  study_code: string;
  now: string;
  policy_version: number;
  policy: unknown;
  study: {
    start_date: string | null;
    timezone: string;
    consent_mode: 'none' | 'external' | 'econsent';
    scheduling_mode: string | null;
  };
  participant: {
    status: 'enrolled' | 'withdrawn';
    site_code: string | null;
    arm: string | null;
    preferred_language: string | null;
    date_of_birth: string | null;
  };
  /** The identity was erased. */
  erased: boolean;
  /** Enrolled in this transaction: the anchor is stored with its first decision. */
  is_new?: true;
  site_timezone: string | null;
  anchor: {
    id: string;
    enrollment_date_value: string | null;
    enrollment_datetime_value: string | null;
    partial_value: string | null;
    precision: string;
    timezone: string | null;
    source_type: string | null;
    source_ref: Record<string, unknown> | null;
    status: string;
    is_override: boolean;
    override_at: string | null;
    version: number;
    reopened: boolean;
    reopened_facts: string | null;
    cancelled_facts: string | null;
    current_schedule_version_id: string | null;
    /** The participant was reinstated, and no schedule version is from afterwards. */
    is_to_continue: boolean;
    updated_at: string;
  };
  consents: { id: string; consent_version_id: string | null; status: string; signed_at: string | null }[];
  eligibility: { id: string; status: string; confirmed_at: string | null } | null;
  randomization: { id: string; arm: string; randomized_at: string } | null;
  forms: {
    id: string;
    form_oid: string;
    status: string;
    origin: 'service' | 'datacapture';
    created_at: string;
    items: Record<string, unknown>;
  }[];
  baseline: { id: string; status: string; completed_at: string | null; is_baseline: boolean }[];
  manual: { enrollment_date: string; entered_by_user_id: string | null } | null;
  capture: { form_oid: string | null; item_oid: string | null } | null;
  stored: { has_schedule: boolean; data_entered: boolean; signed: boolean; locked: boolean };
  before_override: {
    date: string;
    datetime: string | null;
    partial: string | null;
    precision: string;
    timezone: string | null;
    source_type: string;
    source_ref: Record<string, unknown> | null;
  } | null;
  pending_override: {
    id: string;
    new_enrollment_date: string;
    requested_at: string;
    remind_at: string;
    reminded_at: string | null;
    expires_at: string;
  } | null;
}

/** An instant as text that sorts and parses everywhere; the server's JSON would have an offset. */
const iso = (expression: string) => `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Eligible by an unapproved waiver. */
const UNAPPROVED = `(e.status = 'eligible' and e.has_waiver and e.waiver_approved_by_id is null)`;

const POLICY = `s.config->'enrollment_date_policy'`;

/** What a decision reads of the study, and of the participant's own row and forms. */
const OWN = `p.id as participant_id, p.participant_code, p.study_id, s.study_code, p.site_id,
  ${iso('clock_timestamp()')} as now, s.policy_version,
  json_build_object('start_date', s.start_date, 'timezone', s.timezone, 'consent_mode', s.consent_mode,
    'scheduling_mode', s.config->>'scheduling_mode') as study,
  p.erased_at is not null as erased, site.timezone as site_timezone,
  coalesce((select json_agg(json_build_object('id', f.id, 'form_oid', f.form_oid, 'status', f.status, 'origin',
    f.origin, 'created_at', ${iso('f.created_at')}, 'items', f.items) order by f.created_at, f.id)
    from form_instances f where f.participant_id = p.id), '[]') as forms,
  (select json_build_object('form_oid', d.enrollment_instrument, 'item_oid',
    d.participant_field_mapping->>'enrollment_date') from datacapture_configs d where d.study_id = s.id) as capture`;
/** A participant's fields; `arm`: the one in force. */
const participantOf = (arm: string) => `json_build_object('status', p.status, 'site_code', site.site_code, 'arm',
  ${arm}, 'preferred_language', p.preferred_language, 'date_of_birth', p.date_of_birth)`;

const facts = (whose: string, policy = POLICY) => `
select ${OWN}, ${policy} as policy, ${participantOf('coalesce(p.arm, r.arm)')} as participant,
  json_build_object('id', a.id, 'enrollment_date_value', a.enrollment_date_value, 'enrollment_datetime_value',
    ${iso('a.enrollment_datetime_value')},
    'partial_value', a.partial_value, 'precision', a.precision, 'timezone', a.timezone, 'source_type', a.source_type,
      'source_ref', a.source_ref,
    'status', a.status, 'is_override', a.is_override, 'override_at', ${iso('a.override_at')}, 'version', a.version,
      'reopened', a.reopened, 'reopened_facts', a.reopened_facts, 'cancelled_facts', a.cancelled_facts,
    'current_schedule_version_id', a.current_schedule_version_id,
    'is_to_continue', p.reinstated_at is not null and not exists (select from schedule_versions v
      where v.participant_id = p.id and v.generated_at >= p.reinstated_at),
    'updated_at', ${iso('a.updated_at')}) as anchor,
  coalesce((select json_agg(json_build_object('id', c.id, 'consent_version_id', c.consent_version_id, 'status',
    c.status, 'signed_at', ${iso('c.signed_at')}) order by c.created_at, c.id)
    from consents c where c.participant_id = p.id), '[]') as consents,
  (select json_build_object('id', e.id, 'status', case when ${UNAPPROVED} then 'pending' else e.status end,
    'confirmed_at', case when not ${UNAPPROVED} then ${iso('e.confirmed_at')} end) from eligibility_assessments e
    where e.participant_id = p.id) as eligibility,
  case when r.id is null then null else json_build_object('id', r.id, 'arm', r.arm, 'randomized_at',
    ${iso('r.randomized_at')}) end as randomization,
  coalesce((select json_agg(json_build_object('id', v.id, 'status', v.status, 'completed_at',
    ${iso('v.completed_at')}, 'is_baseline', true) order by v.target_date, v.id)
    from scheduled_visits v where v.participant_id = p.id and v.is_baseline
      and v.status not in ('superseded', 'cancelled')), '[]') as baseline,
  (select json_build_object('enrollment_date', m.enrollment_date, 'entered_by_user_id', m.entered_by_user_id)
    from manual_anchor_entries m where m.participant_id = p.id and m.withdrawn_at is null) as manual,
  json_build_object(
    'has_schedule', a.current_schedule_version_id is not null,
    'data_entered', exists (select from scheduled_visits v where v.participant_id = p.id and v.status = 'completed')
      or exists (select from form_instances f where f.participant_id = p.id and f.origin = 'service'
        and f.items <> '{}')
      or exists (select from assessment_sessions x join session_tasks k on k.session_id = x.id
        where x.participant_id = p.id),
    'signed', exists (select from form_instances f where f.participant_id = p.id and f.status in ('signed', 'locked')),
    'locked', exists (select from form_instances f where f.participant_id = p.id and f.status = 'locked')) as stored,
  (select json_build_object('date', b.enrollment_date_value, 'datetime', ${iso('b.enrollment_datetime_value')},
      'partial', (select d.decision->'value'->>'partial' from anchor_decisions d where d.history_id = b.id),
        'precision', b.precision, 'timezone', b.timezone, 'source_type', b.source_type, 'source_ref', b.source_ref)
    from anchor_date_history b where a.is_override and b.participant_id = p.id and b.source_type <> 'override'
      and b.enrollment_date_value is not null and b.event_type in ('SET', 'CHANGED', 'FINALIZED', 'PROPOSED')
    order by b.seq desc limit 1) as before_override,
  (select json_build_object('id', o.id, 'new_enrollment_date', o.new_enrollment_date,
    'requested_at', ${iso('o.requested_at')}, 'remind_at', ${iso('o.remind_at')},
    'reminded_at', ${iso('o.reminded_at')}, 'expires_at', ${iso('o.expires_at')})
    from override_requests o where o.participant_id = p.id and o.status = 'pending') as pending_override
from participants p
join studies s on s.id = p.study_id
join anchor_dates a on a.participant_id = p.id
left join sites site on site.id = p.site_id
left join randomizations r on r.participant_id = p.id
where p.id ${whose}`;

// With an array the planner treats each number of ids as a new query and plans every time, which costs more than
// running it; one participant is queried by a single value.
const OF_ONE = facts('= $1'),
  OF_MANY = facts('= any($1)'),
  /** A study's policy only with one of its participants: with each it is read, sent and parsed again. */
  POLICY_ONCE = `case when row_number() over (partition by s.id) = 1 then ${POLICY} end`,
  OF_MANY_POLICY_ONCE = facts('= any($1)', POLICY_ONCE),
  OF_NEWCOMERS = `
select ${OWN}, ${POLICY_ONCE} as policy, ${participantOf('p.arm')} as participant
from participants p
join studies s on s.id = p.study_id
left join sites site on site.id = p.site_id
where p.id = any($1)`,
  OF_REQUEST = facts('= (select o.participant_id from override_requests o where o.id = $1)');

/** Statement of `readFacts`. */
export const factsStatement = (...participantIds: readonly string[]): Statement =>
  participantIds.length === 1
    ? { sql: OF_ONE, values: participantIds }
    : { sql: OF_MANY, values: [[...participantIds]] };

/** `readFacts` of an override request's participant. */
export const factsOfRequest = (requestId: string): Statement => ({ sql: OF_REQUEST, values: [requestId] });

/**
 * All facts that a decision may depend on, for each participant in one statement. Unknown participants are left out.
 * Participants of one study share one policy object: what is worked out from it is kept with it.
 */
export async function readFacts(tx: Tx, participantIds: readonly string[]): Promise<FactRow[]> {
  if (participantIds.length === 1) return prepared(tx, OF_ONE, participantIds);
  return withPolicies(await prepared<FactRow>(tx, OF_MANY_POLICY_ONCE, [[...participantIds]]));
}

/** Gives each participant of a study its one policy object. */
function withPolicies(rows: FactRow[]): FactRow[] {
  const policies = new Map<string, unknown>();
  for (const { study_id, policy } of rows) if (policy !== null) policies.set(study_id, policy);
  for (const row of rows) row.policy = policies.get(row.study_id) ?? null;
  return rows;
}

/**
 * `readFacts` of participants whom this transaction has enrolled, and whom nobody else knows yet: there is nothing of
 * them but their row and the form that came with it. Their anchors are not stored yet; `newId` makes the ids.
 */
export async function readNewcomers(
  tx: Tx,
  participantIds: readonly string[],
  newId: () => string,
): Promise<FactRow[]> {
  if (participantIds.length === 0) return [];
  const rows = await prepared<Omit<FactRow, keyof typeof WITHOUT_PAST | 'anchor'>>(tx, OF_NEWCOMERS, [
    [...participantIds],
  ]);
  return withPolicies(
    rows.map((row) => Object.assign(row, WITHOUT_PAST, { anchor: { ...UNSET, id: newId(), updated_at: row.now } })),
  );
}

const WITHOUT_PAST = {
  is_new: true,
  consents: [] as FactRow['consents'],
  eligibility: null,
  randomization: null,
  baseline: [] as FactRow['baseline'],
  manual: null,
  stored: { has_schedule: false, data_entered: false, signed: false, locked: false },
  before_override: null,
  pending_override: null,
} as const;

/** An anchor as it is before its first decision. */
const UNSET = {
  enrollment_date_value: null,
  enrollment_datetime_value: null,
  partial_value: null,
  precision: 'date',
  timezone: null,
  source_type: null,
  source_ref: null,
  status: 'unset',
  is_override: false,
  override_at: null,
  version: 1,
  reopened: false,
  reopened_facts: null,
  cancelled_facts: null,
  current_schedule_version_id: null,
  is_to_continue: false,
} as const;
