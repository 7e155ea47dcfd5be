/**
 * The effective status of a stored one, as SQL: it applies from its time on, before the job that stores it has run, and
 * also for withdrawn participants, whose stored statuses are frozen. Reports and exports use the same.
 */

/**
 * A pending visit is open inside its window and missed after it. `today` is the date in the participant's time zone; a
 * withdrawn participant's visits no longer open.
 */
export const visitStatus = (visit: string, today: string, participantStatus: string): string =>
  `case when ${visit}.status in ('scheduled', 'open') and ${visit}.window_close < ${today} then 'missed'
     when ${visit}.status = 'scheduled' and ${visit}.window_open <= ${today} and ${participantStatus} = 'enrolled'
       then 'open' else ${visit}.status end`;

/** The joins of `PRESENT_STATUS` for a visit `v`: its participant `p` and the local date. */
export const WHERE_VISIT_IS = `join participants p on p.id = v.participant_id join studies y on y.id = v.study_id
  left join sites w on w.id = p.site_id`;
/** The present status of a visit `v`, with the joins of `WHERE_VISIT_IS`. */
export const PRESENT_STATUS = visitStatus(
  'v',
  '(now() at time zone coalesce(w.timezone, y.timezone))::date',
  'p.status',
);

/** A session after its expiry time is expired. */
export const sessionStatus = (session: string): string =>
  `case when ${session}.status = 'active' and ${session}.source = 'online' and ${session}.expires_at <= ` +
  `clock_timestamp() then 'expired' else ${session}.status end`;

/**
 * Whether a session still accepts results: its id is the credential for that. One of a device is under way until the
 * device ends it.
 */
export const isOpenSession = (session: string): string =>
  `${session}.status = 'active' and (${session}.source = 'offline' or ${session}.expires_at > clock_timestamp())`;

/** A session's id for readers: its public id while it is active, which gives no access. */
export const shownSession = (session: string): string =>
  `case when ${isOpenSession(session)} then session_public_id(${session}.id) else ${session}.id end`;

/** Whether the resolution of a sync conflict has set a session aside: it is kept, and its results do not count. */
export const isSetAside = (session: string): string =>
  `(${session}.status = 'abandoned' and exists (select from sync_conflicts aside
    where aside.participant_id = ${session}.participant_id and aside.session_id = ${session}.id
      and aside.keep = 'server' and aside.resolution = 'both_kept'))`;

/** By how many days a re-anchoring moved a visit's reporting target. */
export const reportingShift = (visit: string): string =>
  `coalesce(${visit}.reporting_target_date - ${visit}.target_date, 0)`;

/** A task's summary: the client's or, if there is none, the one computed from its trials. */
export const taskSummary = (task: string): string =>
  `(case when ${task}.summary = '{}' then ${task}.computed_summary else ${task}.summary end)`;
/** Which of the two it is. */
export const summarySource = (task: string): string =>
  `(case when ${task}.summary = '{}' and ${task}.computed_summary <> '{}' then 'computed' else 'client' end)`;

/** No test yields such a value: it is stored and exported, and excluded from statistics. */
export const PLAUSIBLE_LIMIT_SQL = 1e12;
