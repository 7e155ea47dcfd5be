/** The visits of a participant, as far as an offline session may be of one. */
export interface SyncVisit {
  id: string;
  visit_key: string;
  participant_id: string;
  status: string;
  window_open: string;
  window_close: string;
  battery_id: number | null;
  is_baseline: boolean;
}

/** What a session says of its visit. */
export interface VisitSought {
  visit_id: string | null;
  /** The date of its start in the participant's time zone; empty: not known. */
  local_date: string;
}

/**
 * The named visit, in the current schedule; else the one whose window contains the local start date. Of several the one
 * that is not completed is meant.
 */
export function visitOf(session: VisitSought, visits: readonly SyncVisit[]): SyncVisit | null | 'unknown' {
  if (session.visit_id !== null) {
    const named = visits.find((visit) => visit.id === session.visit_id);
    if (!named) return 'unknown';
    // An offline device knows the visit of an older schedule version.
    return isLive(named)
      ? named
      : (visits.find((visit) => visit.visit_key === named.visit_key && isLive(visit)) ?? named);
  }
  const open = openVisits(session.local_date, visits);
  return open.length === 1 ? open[0]! : null;
}

const isLive = (visit: SyncVisit) => visit.status !== 'superseded' && visit.status !== 'cancelled';
function openVisits(date: string, visits: readonly SyncVisit[]): SyncVisit[] {
  const there = visits.filter((visit) => isLive(visit) && visit.window_open <= date && date <= visit.window_close);
  const due = there.filter(({ status }) => status !== 'completed');
  return due.length > 0 ? due : there;
}

/** If no visit is named and several are possible, the session gets none: a warning lists them. */
export function visitWarnings(session: VisitSought, visits: readonly SyncVisit[]): VisitWarning[] {
  const open = session.visit_id === null ? openVisits(session.local_date, visits) : [];
  return open.length > 1 ? [severalOpenVisits(open.map(({ id }) => id))] : [];
}

export interface VisitWarning {
  code: 'SEVERAL_OPEN_VISITS';
  message: string;
  visit_ids: string[];
}
export const severalOpenVisits = (ids: readonly string[]): VisitWarning => ({
  code: 'SEVERAL_OPEN_VISITS',
  message: `${ids.length} visits are open and none is named: the session has no visit`,
  visit_ids: [...ids].sort(),
});
