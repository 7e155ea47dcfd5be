import type { Signature } from '../../../db/models/records.js';
import type { OverrideRequest } from '../../../db/anchor/override-request-writes.queries.js';
import type { AnchorSnapshot } from '../snapshot.js';

/** What a command is decided from. Deciding reads and writes nothing, and takes its ids from here. */
export interface CommandContext {
  snapshot: AnchorSnapshot;
  /** The override request that the command is about, locked. */
  request: OverrideRequest | undefined;
  /** What the approver of that request has signed. */
  signature: Signature | undefined;
  newIds: { overrideRequest: string; scheduleVersion: string };
}
