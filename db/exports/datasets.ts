import { reportingShift, sessionStatus, summarySource, taskSummary, visitStatus } from '../effective.js';

/**
 * What a column holds, which says how it is written and what becomes of it in a de-identified export:
 * - text: what people wrote; a spreadsheet must not run it. Left out de-identified where `personal`
 * - word: one of the program's own words; kept
 * - code, id: of a person, place or record; pseudonyms de-identified
 * - date, instant: moved by the participant's days de-identified
 */
export type ColumnType = 'text' | 'word' | 'code' | 'id' | 'number' | 'boolean' | 'date' | 'instant' | 'json';
export interface Column {
  name: string;
  type: ColumnType;
  sql: string;
  about: string;
  personal?: true;
}
export interface Dataset {
  columns: readonly Column[];
  /**
   * With the aliases that the columns use; `p` is the participant, `st` its site. Rows of what has no participant have
   * null there.
   */
  from: string;
  /**
   * A row of `from` stands for many, those of this select: columns of `r` are theirs, and come last. They are left out
   * of `from`.
   */
  each?: string;
  study: string;
  /** What `from` and `to` are held against: an expression of type date, in UTC. */
  date: string;
  /** Empty: as `from` gives them, by ids that say nothing. */
  order: string;
  /** It cannot be de-identified: why. */
  identified?: string;
}

const column =
  (type: ColumnType) =>
  (name: string, about: string, sql = `t.${name}`): Column => ({ name, type, sql, about });
export const text = column('text'),
  code = column('code'),
  id = column('id'),
  date = column('date'),
  instant = column('instant');
const word = column('word'),
  number = column('number'),
  boolean = column('boolean'),
  json = column('json');
const personal = (one: Column): Column => ({ ...one, personal: true });

/** Of every row about a participant, in front. */
export const whose = [
  id('participant_id', 'the participant', 'p.id'),
  code('participant_code', 'its code', 'p.participant_code'),
  code('site_code', 'its site', 'st.site_code'),
];
const ofParticipant = (table: string) =>
  `${table} t join participants p on p.id = t.participant_id left join sites st on st.id = p.site_id`;
export const utcDate = (sql: string) => `(${sql} at time zone 'UTC')::date`;

/** Of a session and all of its tasks, by task. */
const remarksOf = (column: string, own: string) =>
  `(${own} || coalesce((select jsonb_agg(r order by x.task, i) from session_tasks x cross join lateral jsonb_array_elements(x.${column}) with ordinality e(r, i) where x.session_id = t.id), '[]'))`;
const REMARKS_OF = {
  quality_flags: remarksOf('quality_flags', 't.quality_flags'),
  warnings: remarksOf('warnings', `'[]'::jsonb`),
};

export const datasets = {
  participants: {
    from: 'participants p left join sites st on st.id = p.site_id',
    study: 'p.study_id',
    date: utcDate('p.created_at'),
    order: 'p.participant_code, p.id',
    columns: [
      id('id', 'the participant', 'p.id'),
      code('participant_code', 'its code in the study', 'p.participant_code'),
      personal(text('external_id', 'its record in the capture system', 'p.external_id')),
      code('site_code', 'its site', 'st.site_code'),
      word('preferred_language', 'BCP 47', 'p.preferred_language'),
      word('status', 'enrolled or withdrawn', 'p.status'),
      date('enrollment_date', 'mirrors the anchor date', 'p.enrollment_date'),
      personal(text('email', 'address', 'p.email')),
      personal(text('phone', 'number', 'p.phone')),
      personal(text('timezone', 'IANA zone', 'p.timezone')),
      personal(date('date_of_birth', 'day of birth', 'p.date_of_birth')),
      text('arm', 'arm of the study', 'p.arm'),
      instant('withdrawn_at', 'when it withdrew', 'p.withdrawn_at'),
      personal(text('withdrawal_reason', 'why', 'p.withdrawal_reason')),
      instant('created_at', 'when the record was made', 'p.created_at'),
      instant('updated_at', 'its last change', 'p.updated_at'),
    ],
  },
  visits: {
    from: `scheduled_visits t join participants p on p.id = t.participant_id join studies s on s.id = t.study_id left join sites st on st.id = p.site_id
      left join visit_windows w on w.id = t.visit_window_id left join batteries b on b.id = t.battery_id left join schedule_versions v on v.id = t.schedule_version_id
      cross join lateral (select coalesce(st.timezone, s.timezone) as zone, ${reportingShift('t')} as shift) z
      cross join lateral (select ${visitStatus('t', '(now() at time zone z.zone)::date', 'p.status')} as status) o`,
    study: 't.study_id',
    date: 't.target_date',
    order: 'p.participant_code, t.target_date, v.version_number, t.id',
    columns: [
      id('id', 'the visit'),
      ...whose,
      id('visit_key', 'the same across schedule versions'),
      text('name', 'name'),
      code('window_code', 'its window', 'w.code'),
      number('schedule_version', 'number of its schedule version', 'v.version_number'),
      code('battery_code', 'its battery', 'b.code'),
      date('target_date', 'due on'),
      date('window_open', 'first day'),
      date('window_close', 'last day'),
      word('status', 'scheduled, open, completed, missed, superseded or cancelled', 'o.status'),
      word(
        'adherence',
        'early, in_window, late, missed, pending or cancelled',
        `visit_adherence(o.status, t.completed_at, t.window_open + z.shift, t.window_close + z.shift, z.zone)`,
      ),
      number(
        'days_off_target',
        'days after (before: negative) the target that is reported against',
        '(t.completed_at at time zone z.zone)::date - t.target_date - z.shift',
      ),
      instant('completed_at', 'when it was completed'),
      id('session_id', 'the session that completed it'),
      boolean('is_baseline', 'the baseline visit'),
      text('datacapture_event', 'event in the capture system'),
      word('data_sync_status', 'pending, synced or failed'),
      instant('synced_at', 'when its results were pushed'),
      boolean('anchor_reconciled', 'completed under an older anchor date'),
      instant('anchor_reconciled_at', 'since when'),
      boolean('needs_review', 'waits for a review'),
      date('reporting_target_date', 'target by the newer anchor date'),
      instant('created_at', 'when it was planned'),
    ],
  },
  sessions: {
    from: `${ofParticipant('assessment_sessions')} left join batteries b on b.id = t.battery_id`,
    study: 't.study_id',
    date: utcDate('t.started_at'),
    order: 't.started_at, t.id',
    columns: [
      id('id', 'the session'),
      ...whose,
      id('visit_id', 'its visit'),
      code('battery_code', 'its battery', 'b.code'),
      number('battery_version', 'of this version'),
      word('language', 'BCP 47'),
      word('status', 'active, completed, expired or abandoned', sessionStatus('t')),
      word('source', 'online or offline'),
      personal(text('local_id', 'id on the device')),
      personal(text('device_id', 'the device')),
      number('clock_skew_ms', 'how far the device’s clock was ahead when it sent the session, milliseconds'),
      instant('started_at', 'start'),
      instant('expires_at', 'end of its life'),
      instant('completed_at', 'end'),
      personal(text('timezone', 'IANA zone of the device')),
      number(
        'trial_count',
        'raw trials',
        '(select coalesce(sum(x.trial_count), 0) from session_tasks x where x.session_id = t.id)',
      ),
      word('sync_status', 'pending, synced or failed'),
      instant('synced_at', 'when its results were pushed'),
      json(
        'quality_flags',
        'what is not plausible: of its times, and of what its tasks gave',
        REMARKS_OF.quality_flags,
      ),
      json('warnings', 'what else was noticed of its tasks', REMARKS_OF.warnings),
    ],
  },
  task_summaries: {
    from: `session_tasks k join assessment_sessions t on t.id = k.session_id join participants p on p.id = t.participant_id left join sites st on st.id = p.site_id cross join lateral jsonb_each(${taskSummary('k')}) m`,
    study: 'k.study_id',
    date: utcDate('t.started_at'),
    order: 't.started_at, t.id, k.task, m.key',
    columns: [
      id('session_id', 'the session', 't.id'),
      ...whose,
      id('visit_id', 'its visit'),
      instant('started_at', 'start of the session'),
      text('task', 'cognitive task', 'k.task'),
      id('module_id', 'the module of the battery, where the client named it', 'k.module_id'),
      text('metric', 'name of the metric', 'm.key'),
      number('value', 'its value', `case when jsonb_typeof(m.value) = 'number' then (m.value)::numeric end`),
      word(
        'summary_source',
        'client, or computed: from the trials, where the client gave no summary',
        summarySource('k'),
      ),
      instant('submitted_at', 'when it came', 'k.submitted_at'),
      number(
        'computed_value',
        'the value of the metric that the trials give',
        `case when jsonb_typeof(k.computed_summary->m.key) = 'number' then (k.computed_summary->m.key)::numeric end`,
      ),
      json('computed_summary', 'every metric that the trials of the task give', 'k.computed_summary'),
      json('quality_flags', 'what is not plausible of the task', 'k.quality_flags'),
      json('warnings', 'what else was noticed of the task', 'k.warnings'),
      personal(text('device_id', 'the device of the session')),
      number('clock_skew_ms', 'how far its clock was ahead when it sent the session, milliseconds'),
    ],
  },
  raw_trials: {
    // A row is up to a thousand trials.
    from: `(select c.session_id as of_session, t0.started_at, c.task, c.chunk, c.trial_index, c.rt, c.correct, c.at, c.data, c.practice, c.study_id, p0.id as of_participant, t0.visit_id
      from raw_trial_chunks c join assessment_sessions t0 on t0.id = c.session_id join participants p0 on p0.id = t0.participant_id where c.study_id = :study order by c.session_id, c.task, c.chunk) t
      join participants p on p.id = t.of_participant left join sites st on st.id = p.site_id`,
    each: 'select unnest(t.trial_index) as trial_index, unnest(t.rt) as rt, unnest(t.correct) as correct, unnest(t.at) as at, jsonb_array_elements(t.data) as data, unnest(t.practice) as practice',
    study: 't.study_id',
    date: utcDate('t.started_at'),
    order: '',
    columns: [
      id('session_id', 'the session', 't.of_session'),
      ...whose,
      id('visit_id', 'its visit'),
      text('task', 'cognitive task'),
      number('trial_index', 'as the client counts', 'r.trial_index'),
      number('rt', 'reaction time, milliseconds', 'r.rt'),
      boolean('correct', 'answered correctly', 'r.correct'),
      instant('timestamp', 'when', 'r.at'),
      json('data', 'whatever else the task recorded', `nullif(r.data, 'null')`),
      boolean('practice', 'for practice: in no computed summary', 'coalesce(r.practice, false)'),
    ],
  },
  anchors: {
    from: ofParticipant('anchor_dates'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.id',
    columns: [
      id('id', 'the anchor'),
      ...whose,
      date('enrollment_date', 'the anchor date', 't.enrollment_date_value'),
      instant('enrollment_datetime', 'with precision datetime', 't.enrollment_datetime_value'),
      word('precision', 'date, datetime, partial_year or partial_month'),
      personal(word('timezone', 'IANA zone')),
      word('status', 'unset, provisional or finalized'),
      word('source_type', 'where the date comes from'),
      personal(json('source_ref', 'the record that it comes from')),
      boolean('is_override', 'overridden'),
      personal(text('override_reason', 'why')),
      number('version', 'goes up with each change'),
      id('current_schedule_version_id', 'schedule of this date'),
      instant('finalized_at', 'when it became final'),
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
    ],
  },
  anchor_history: {
    from: ofParticipant('anchor_date_history'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 't.seq',
    columns: [
      id('id', 'the entry'),
      ...whose,
      word('event_type', 'what happened'),
      number('anchor_version', 'version after it'),
      date('enrollment_date_value', 'date after it'),
      word('precision', 'date, datetime, partial_year or partial_month'),
      word('status_before', 'status before'),
      word('status_after', 'status after'),
      word('source_type', 'where the date comes from'),
      date('previous_enrollment_date', 'date before'),
      word('previous_source_type', 'source before'),
      number('change_delta_days', 'days moved'),
      id('actor_user_id', 'who'),
      word('actor_type', 'user, system, participant or workflow'),
      personal(text('reason', 'why')),
      id('schedule_version_created_id', 'schedule version that it made'),
      instant('created_at', 'when'),
    ],
  },
  schedule_versions: {
    from: ofParticipant('schedule_versions'),
    study: 't.study_id',
    date: utcDate('t.generated_at'),
    order: 'p.participant_code, t.version_number, t.id',
    columns: [
      id('id', 'the version'),
      ...whose,
      number('version_number', 'of the participant'),
      boolean('is_current', 'in force'),
      date('anchor_date_used', 'made from this date'),
      number('anchor_version', 'of this version of the anchor'),
      word('scheduling_mode', 'legacy or edc'),
      word('status', 'active, superseded or reconciled'),
      number('visits_generated', 'new visits'),
      json('generation_warnings', 'what was to be said'),
      instant('generated_at', 'when'),
      id('generated_by_id', 'by whom'),
      id('superseded_by_id', 'the next one'),
      instant('superseded_at', 'when it was replaced'),
      text('supersede_reason', 'why'),
    ],
  },
  notifications: {
    from: 'notifications t left join participants p on p.id = t.participant_id left join sites st on st.id = p.site_id',
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 't.created_at, t.id',
    columns: [
      id('id', 'the message'),
      ...whose,
      id('user_id', 'staff that it is for'),
      id('visit_id', 'the visit that it is about'),
      word('kind', 'what it says'),
      word('channel', 'email, sms or push'),
      word('status', 'pending, sent, failed, cancelled or suppressed'),
      instant('due_at', 'to be sent at'),
      instant('sent_at', 'sent at'),
      number('attempts', 'attempts'),
      text('last_error', 'last fault'),
      text('reason', 'why it was stopped'),
      instant('created_at', 'when it was planned'),
    ],
  },
  audit: {
    from: `audit_log t left join participants p on t.resource_type = 'participant' and p.id::text = t.resource_id left join sites st on st.id = p.site_id`,
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 't.seq',
    identified: 'audit records say who did what: they are not de-identified',
    columns: [
      number('seq', 'place in the chain'),
      id('user_id', 'who'),
      word('action', 'did what'),
      word('resource_type', 'to what'),
      text('resource_id', 'which one'),
      json('audit_metadata', 'more about it'),
      word('request_id', 'by which request'),
      instant('created_at', 'when'),
      word('prev_hash', 'hash of the record before'),
      word('hash', 'SHA-256 of this one'),
      number('hash_version', 'how it is computed'),
    ],
  },
} as const satisfies Record<string, Dataset>;

export type DatasetName = keyof typeof datasets;
export const datasetNames = Object.keys(datasets) as DatasetName[];
export const datasetOf = (name: DatasetName): Dataset => datasets[name];
