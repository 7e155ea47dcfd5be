import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface LiveVisit {
  id: string;
  status: string;
  is_baseline: boolean;
  datacapture_event: string | null;
  session_id: string | null;
  window_open: string;
}

const LIVE = `select id, status, is_baseline, datacapture_event, session_id, window_open from scheduled_visits
  where visit_key = $1 and status not in ('superseded', 'cancelled')`;

/**
 * The current row of a visit, locked: a visit of an older schedule version is completed on the live row of the same
 * key. Undefined: the visit is no longer in the plan. Statement by statement, so that a row which a re-anchoring just
 * inserted is seen once its lock is free: of one that was replaced while it was waited for, the successor is taken.
 */
export async function liveVisit(tx: Tx, visitId: string): Promise<LiveVisit | undefined> {
  const named = (
    await query<{ visit_key: string }>(tx, 'select visit_key from scheduled_visits where id = $1 for update', [visitId])
  )[0];
  if (!named) return undefined;
  for (;;) {
    const [locked] = await query<LiveVisit>(tx, `${LIVE} for update`, [named.visit_key]);
    if (locked) return locked;
    const [successor] = await query<LiveVisit>(tx, LIVE, [named.visit_key]);
    if (!successor) return undefined;
  }
}

/** Completes visits by their sessions, in one statement; closed visits are skipped. Returns the completed ones. */
export async function completeVisits(
  tx: Tx,
  visits: readonly { id: string; session_id: string; completed_at: string }[],
): Promise<string[]> {
  if (visits.length === 0) return [];
  const rows = await query<{ id: string }>(
    tx,
    `update scheduled_visits v set status = 'completed', status_reason = null, completed_at = n.completed_at,
      session_id = n.session_id
     from jsonb_to_recordset($1::jsonb) as n(id uuid, session_id uuid, completed_at timestamptz)
     where v.id = any($2::uuid[]) and v.id = n.id and v.status in ('scheduled', 'open', 'missed') returning v.id`,
    [JSON.stringify(visits), visits.map(({ id }) => id)],
  );
  return rows.map(({ id }) => id);
}
