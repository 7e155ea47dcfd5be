/**
 * What a stored status says at this moment, as SQL: it is so from that moment, also before the job that writes it down
 * has come, and for those who have withdrawn, whose visits' statuses are frozen. Reports and exports say the same.
 */

/**
 * A visit that is to be done and whose window has closed is missed; `today` is the date where its participant lives.
 */
export const visitStatus = (visit: string, today: string): string =>
  `case when ${visit}.status in ('scheduled', 'open') and ${visit}.window_close < ${today} then 'missed' else ${visit}.status end`;

/** A session whose time is up is expired. */
export const sessionStatus = (session: string): string =>
  `case when ${session}.status = 'active' and ${session}.source = 'online' and ${session}.expires_at <= clock_timestamp() then 'expired' else ${session}.status end`;

/** By how many days a re-anchoring moved the target that a visit is reported against. */
export const reportingShift = (visit: string): string =>
  `coalesce(${visit}.reporting_target_date - ${visit}.target_date, 0)`;
