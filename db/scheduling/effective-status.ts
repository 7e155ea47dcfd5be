/**
 * What a stored status says at this moment, as SQL: it is so from that moment, also before the job that writes it down
 * has come, and for those who have withdrawn, whose visits' statuses are frozen. Reports and exports say the same.
 */

/**
 * A visit that is to be done is open inside its window and missed after it. `today` is the date where its participant
 * lives; for a participant who has withdrawn no visit opens any more.
 */
export const visitStatus = (visit: string, today: string, participantStatus: string): string =>
  `case when ${visit}.status in ('scheduled', 'open') and ${visit}.window_close < ${today} then 'missed'
     when ${visit}.status = 'scheduled' and ${visit}.window_open <= ${today} and ${participantStatus} = 'enrolled' then 'open' else ${visit}.status end`;

/** The joins that give `presentStatus` of a visit `v` its participant `p` and the date where the participant lives. */
export const WHERE_VISIT_IS =
  'join participants p on p.id = v.participant_id join studies y on y.id = v.study_id left join sites w on w.id = p.site_id';
/** The status of a visit `v` by the present date, beside the joins of `WHERE_VISIT_IS`. */
export const PRESENT_STATUS = visitStatus(
  'v',
  '(now() at time zone coalesce(w.timezone, y.timezone))::date',
  'p.status',
);

/** A session whose time is up is expired. */
export const sessionStatus = (session: string): string =>
  `case when ${session}.status = 'active' and ${session}.source = 'online' and ${session}.expires_at <= clock_timestamp() then 'expired' else ${session}.status end`;

/** Whether results may still be sent to a session: its id is the credential for that. */
const isOpenSession = (session: string): string =>
  `${session}.status = 'active' and ${session}.source = 'online' and ${session}.expires_at > clock_timestamp()`;

/** A session's id for those who only read: while the session is active another name, which is good for nothing. */
export const shownSession = (session: string): string =>
  `case when ${isOpenSession(session)} then session_public_id(${session}.id) else ${session}.id end`;

/** By how many days a re-anchoring moved the target that a visit is reported against. */
export const reportingShift = (visit: string): string =>
  `coalesce(${visit}.reporting_target_date - ${visit}.target_date, 0)`;

/** What counts as a task's summary: the client's or, where it gave none, the one that its trials give. */
export const taskSummary = (task: string): string =>
  `(case when ${task}.summary = '{}' then ${task}.computed_summary else ${task}.summary end)`;
/** Which of the two it is. */
export const summarySource = (task: string): string =>
  `(case when ${task}.summary = '{}' and ${task}.computed_summary <> '{}' then 'computed' else 'client' end)`;

/** No test yields such a value: it is kept and exported, and left out of statistics. */
export const PLAUSIBLE_LIMIT_SQL = 1e12;
