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
  /** Of a response, under the name of its module's results. */
  content?: TaskContent;
  /** Of a response, its id in the session; null: another device's has it. */
  local_id?: string | null;
  /** Of a response that is stored with its session's conflict: that session. */
  refused?: DecidedItem;
}

/** A refused session: the item, and the server's session. */
export interface Refused {
  refused: DecidedItem;
}

/** The outcome of a session item: the session it became, the one it conflicted with, or neither. */
export type ClaimOutcome =
  | { kind: 'taken'; session: SessionFacts }
  | { kind: 'refused'; session: SessionFacts; decided: DecidedItem; same_start: boolean }
  | { kind: 'rejected'; session?: undefined };

/** A session item of the call, as far as it is readable: local id, device, study, and the participant that it names. */
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
