import { Study } from '../models/records.js';
import {
  isSetAside,
  reportingShift,
  sessionStatus,
  shownSession,
  taskSummary,
  visitStatus,
} from '../scheduling/effective-status.js';
import type { Signature } from '../models/records.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * The content of a standard's document about a participant: codes and facts, no name, address or birthday. Instants are
 * ISO 8601, UTC.
 */
export interface Subject {
  id: string;
  code: string;
  status: 'enrolled' | 'withdrawn';
  site_code: string | null;
  arm: string | null;
  preferred_language: string | null;
  enrollment_date: string | null;
  withdrawn_at: string | null;
  created_at: string;
  anchor: {
    status: string;
    precision: string;
    source_type: string | null;
    is_override: boolean;
    version: number;
  } | null;
  randomization: { arm: string; stratum: string | null; randomized_at: string } | null;
  eligibility: { status: string; confirmed_at: string | null } | null;
  consents: {
    id: string;
    consent_version_id: string | null;
    purpose: string | null;
    status: 'pending' | 'signed' | 'declined' | 'revoked';
    signed_at: string | null;
    revoked_at: string | null;
    created_at: string;
    imported: boolean;
  }[];
  forms: {
    form_oid: string;
    status: string;
    signed_at: string | null;
    signature: Signature | null;
    items: Record<string, unknown>;
  }[];
  visits: {
    id: string;
    window_code: string | null;
    event_oid: string | null;
    name: string;
    target_date: string;
    window_open: string;
    window_close: string;
    status: string;
    adherence: string | null;
    completed_at: string | null;
  }[];
  sessions: {
    id: string;
    visit_id: string | null;
    status: string;
    language: string | null;
    source: string;
    started_at: string;
    completed_at: string | null;
    tasks: Record<string, Record<string, unknown>>;
  }[];
}

const at = (sql: string): string => `export_instant(${sql})`;
const list = (rows: string, order: string): string =>
  `coalesce((select json_agg(row_to_json(x) order by ${order}) from (${rows}) x), '[]')`;

/**
 * One row for each participant, `subject`, in the order of codes; `where` is a condition on `p`. Superseded visits are
 * left out, and so are sessions that were set aside.
 */
export const subjectsSql = (where: string): string => `
select json_build_object('id', p.id, 'code', p.participant_code, 'status', p.status, 'site_code', st.site_code, 'arm',
  p.arm, 'preferred_language', p.preferred_language,
  'enrollment_date', p.enrollment_date, 'withdrawn_at', ${at('p.withdrawn_at')}, 'created_at', ${at('p.created_at')},
  'anchor', (select row_to_json(a) from (select status, precision, source_type, is_override, version from anchor_dates
    where participant_id = p.id) a),
  'randomization', (select row_to_json(r) from (select arm, stratum, ${at('randomized_at')} as randomized_at
    from randomizations where participant_id = p.id) r),
  'eligibility', (select row_to_json(e) from (select status, ${at('confirmed_at')} as confirmed_at
    from eligibility_assessments where participant_id = p.id order by created_at desc, id limit 1) e),
  'consents', ${list(
    `select id, consent_version_id, purpose, status, ${at('signed_at')} as signed_at, ${at('revoked_at')} as revoked_at,
      ${at('created_at')} as created_at, imported
    from consents where participant_id = p.id`,
    'x.created_at, x.id',
  )},
  'forms', ${list(
    `select form_oid, status, ${at('signed_at')} as signed_at, signature, items, created_at, id
    from form_instances where participant_id = p.id`,
    'x.form_oid, x.created_at, x.id',
  )},
  'visits', ${list(
    `select v.id, w.code as window_code, coalesce(e.event_oid, v.event_oid) as event_oid, v.name, v.target_date,
      v.window_open, v.window_close, o.status,
      ${at('v.completed_at')} as completed_at,
      visit_adherence(o.status, v.completed_at, v.window_open + ${reportingShift('v')},
        v.window_close + ${reportingShift('v')}, z.zone) as adherence
    from scheduled_visits v left join visit_windows w on w.id = v.visit_window_id
      left join event_definitions e on e.id = v.event_definition_id
      cross join lateral (select ${visitStatus('v', '(now() at time zone z.zone)::date', 'p.status')} as status) o
    where v.participant_id = p.id and v.status <> 'superseded'`,
    'x.target_date, x.id',
  )},
  'sessions', ${list(
    `select ${shownSession('s')} as id, s.visit_id, ${sessionStatus('s')} as status, s.language, s.source,
      ${at('s.started_at')} as started_at, ${at('s.completed_at')} as completed_at,
      coalesce((select json_object_agg(t.task, ${taskSummary('t')} order by t.task)
        from session_tasks t where t.session_id = s.id), '{}') as tasks
    from assessment_sessions s where s.participant_id = p.id and not ${isSetAside('s')}`,
    'x.started_at, x.id',
  )}
) as subject
from participants p join studies y on y.id = p.study_id left join sites st on st.id = p.site_id
  cross join lateral (select coalesce(st.timezone, y.timezone) as zone) z
where ${where} order by p.participant_code, p.id`;

/** A participant of the study; undefined: none is visible. */
export async function standardSubject(tx: Tx, studyId: string, participantId: string): Promise<Subject | undefined> {
  const [row] = await query<{ subject: Subject }>(tx, subjectsSql('p.study_id = $1 and p.id = $2'), [
    studyId,
    participantId,
  ]);
  return row?.subject;
}

export interface StandardStudy {
  id: string;
  study_code: string;
  study_name: string;
  description: string | null;
  status: string;
  start_date: string | null;
  end_date: string | null;
  created_at: string;
}
export async function standardStudy(tx: Tx, studyId: string): Promise<StandardStudy | undefined> {
  return Study.query(tx)
    .findById(studyId)
    .select('id', 'study_code', 'study_name', 'description', 'status', 'start_date', 'end_date', 'created_at');
}

/** The metadata of a study's data: events, sites, submitted forms, measured tasks. */
export interface StudyShape {
  events: { kind: 'window' | 'event'; code: string; name: string }[];
  sites: { site_code: string; name: string | null }[];
  /** `kinds`: of its values; `length` of the longest. */
  items: { form_oid: string; item_oid: string; kinds: ValueKind[]; length: number }[];
  metrics: { task: string; metric: string; kinds: ValueKind[]; length: number }[];
}
/** `number`: not whole, or too large to be written digit by digit. */
export type ValueKind = 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'text';

/** Smaller whole numbers are written in digits, exactly. */
const WRITTEN_OUT = '1e15';
/** No hour 24, no leap second, and offsets up to 14 hours: the database reads more than a datetime of ODM may be. */
const ODM_DATETIME =
  '^\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+){0,1}' +
  '(Z|[+-](0\\d|1[0-3]):[0-5]\\d|[+-]14:00){0,1}$';
/** SQL for the kind of a JSON value; null if it is empty. */
const kindOf = (value: string): string => `case jsonb_typeof(${value})
  when 'number' then case when (${value})::numeric = trunc((${value})::numeric)
    and abs((${value})::numeric) < ${WRITTEN_OUT} then 'integer' else 'number' end
  when 'boolean' then 'boolean' when 'string' then case
    when ${value} #>> '{}' = '' then null
    when ${value} #>> '{}' ~ '^\\d{4}-\\d\\d-\\d\\d$' and pg_input_is_valid(${value} #>> '{}', 'date') then 'date'
    when ${value} #>> '{}' ~ '${ODM_DATETIME}'
      and pg_input_is_valid(${value} #>> '{}', 'timestamptz') then 'datetime'
    else 'text' end
  else 'text' end`;
const kindsOf = (value: string): string =>
  `coalesce(array_agg(distinct ${kindOf(value)}) filter (where ${kindOf(value)} is not null), '{}') as kinds, ` +
  `max(length(${value} #>> '{}')) as length`;

export async function studyShape(tx: Tx, studyId: string): Promise<StudyShape> {
  const rows = await query<StudyShape>(
    tx,
    `select
      (select coalesce(json_agg(json_build_object('kind', e.kind, 'code', e.code, 'name', e.name)
        order by e.kind desc, e.sort_order, e.target_day, e.code), '[]') from (
        select 'window' as kind, code, name, sort_order, target_day from visit_windows where study_id = $1
        union all select 'event', event_oid, name, sort_order, target_day from event_definitions
          where study_id = $1) e) as events,
      (select coalesce(json_agg(json_build_object('site_code', site_code, 'name', name) order by site_code), '[]')
        from sites where study_id = $1) as sites,
      (select coalesce(json_agg(row_to_json(i) order by i.form_oid, i.item_oid), '[]') from (
        select f.form_oid, v.key as item_oid, ${kindsOf('v.value')}
        from form_instances f join participants p on p.id = f.participant_id cross join lateral jsonb_each(f.items) v
          where f.study_id = $1 and jsonb_typeof(v.value) <> 'null' group by 1, 2) i) as items,
      (select coalesce(json_agg(row_to_json(m) order by m.task, m.metric), '[]') from (
        select t.task, v.key as metric, ${kindsOf('v.value')} from session_tasks t
          join assessment_sessions s on s.id = t.session_id join participants p on p.id = s.participant_id
          cross join lateral jsonb_each(${taskSummary('t')}) v
          where t.study_id = $1 and jsonb_typeof(v.value) = 'number' group by 1, 2) m) as metrics`,
    [studyId],
  );
  return rows[0]!;
}
