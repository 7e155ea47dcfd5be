import type { Signature } from '../../../db/models/records.js';
import type { LockedOverrideRequest } from '../../../db/anchor/override-request-writes.queries.js';
import type { AnchorSnapshot } from '../snapshot.js';

/** The input of a command's decision. Deciding reads and writes nothing, and takes new ids from here. */
export interface CommandContext {
  snapshot: AnchorSnapshot;
  /** The override request that the command is about, locked. */
  request: LockedOverrideRequest | undefined;
  /** The approver's signature for that request. */
  signature: Signature | undefined;
  newIds: { overrideRequest: string; scheduleVersion: string };
}
