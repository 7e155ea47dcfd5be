import type { KnownModules } from '../../../workflows/domain/assessment/submission.js';
import type { OfflineSession, SyncDecision } from '../../../workflows/domain/assessment/sync.js';
import type { TaskContent } from '../sessions/sessions-content.js';
import type { SyncItem } from './sync-items.js';
import type { SessionFacts } from './references.js';
import type { ParticipantRef } from '../../../db/assessment/offline.queries.js';

export interface DecidedItem {
  item: SyncItem;
  decision: SyncDecision;
  offline?: OfflineSession;
  session?: SessionFacts;
  modules?: KnownModules | null;
  /** Of a response, under the name that it is kept by. */
  content?: TaskContent;
  /** Of a response that is kept with its session's conflict: that session. */
  refused?: DecidedItem;
}

/** A session that was refused: the item, beside the one that the server has. */
export interface Refused {
  refused: DecidedItem;
}

/** What became of a session item: the session that it is now, the one that it met and was refused for, or neither. */
export type ClaimOutcome =
  | { kind: 'taken'; session: SessionFacts }
  | { kind: 'refused'; session: SessionFacts; decided: DecidedItem; same_start: boolean }
  | { kind: 'rejected'; session?: undefined };

/**
 * A session that the call has, as far as it can be read: its local id, on which device, in which study, and whose it
 * says that it is.
 */
export interface Claim {
  local_id: string;
  device_id: string | null;
  study_id: string | null;
  ref: ParticipantRef | null;
  /** It names nobody at all. */ nobody: boolean;
  /** Of the item at this place of the call; set when it is decided. */
  index: number;
  outcome: ClaimOutcome;
}
