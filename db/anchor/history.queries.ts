import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** An entry of an anchor's history with the names of the people in it. */
export interface NamedHistoryEntry {
  id: string;
  event_type: string;
  enrollment_date_value: string | null;
  previous_enrollment_date: string | null;
  status_before: string;
  status_after: string;
  source_type: string;
  change_delta_days: number | null;
  actor_type: string;
  actor: string | null;
  reason: string | null;
  imported: boolean;
  created_at: string;
  /** The entry has a decision. */
  has_decision: boolean;
}

/** The history of an anchor, newest first, as a page shows it. */
export const namedHistory = (tx: Tx, participantId: string, limit: number): Promise<NamedHistoryEntry[]> =>
  query<NamedHistoryEntry>(
    tx,
    `select h.id, h.event_type, h.enrollment_date_value, h.previous_enrollment_date, h.status_before, h.status_after,
      h.source_type, h.change_delta_days,
       h.actor_type, u.name as actor, h.reason, h.imported, h.created_at, exists (select from anchor_decisions d
         where d.history_id = h.id) as has_decision
     from anchor_date_history h left join users u on u.id = coalesce(h.actor_user_id, h.imported_by)
       where h.participant_id = $1 order by h.seq desc limit $2`,
    [participantId, limit],
  );
