import { countEnrolled } from '../db/participants/enrolled.queries.js';
import { log } from '@temporalio/activity';
import { readInScope } from '../db/client/transaction.js';
import { applyAnchorCommand } from './anchor/apply.js';
import type { UnsignedMessages } from './anchor/authorization.js';
import type { LabelOptions } from './anchor/labels.js';
import { reanchorBatch } from './anchor/reanchor.js';
import { givenUpAfterOverruns } from './operations/overruns.js';
import type { WorkerPayloads } from '../workflows/util/payload-codec.js';
import type { Database } from '../db/client/database.js';

/**
 * `heartbeat`: tells Temporal that an activity of a whole study lives. `unsigned`: what becomes of messages that claim a
 * person and do not prove it; accepted unless told. `payloads`: of those that came in the open; taken unless told.
 */
export interface ActivityDependencies {
  database: Database;
  heartbeat?: () => void;
  unsigned?: UnsignedMessages;
  payloads?: WorkerPayloads;
  /** Whether decisions need a fresh proof of identity where the study does not say: in production. */
  signaturesAskAgain?: boolean;
  /** What operators are shown; not set: nothing but states. */
  labels?: LabelOptions;
}

/** As `applyAnchorCommand` is given by its workflow. */
const LOCAL_LIMIT = {
  limitMs: 20_000,
  tries: 3,
  report: (message: string, details: Record<string, unknown>) => log.error(message, details),
};

/** The activities of the anchor's processes: one participant's, and a study's as a whole. */
export const createAnchorActivities = ({
  database,
  heartbeat = () => undefined,
  unsigned = 'accept',
  payloads = 'open',
  signaturesAskAgain = false,
  labels,
}: ActivityDependencies) => ({
  applyAnchorCommand: givenUpAfterOverruns(
    LOCAL_LIMIT,
    ({ id }) => id,
    applyAnchorCommand(database, { unsigned, payloads, signaturesAskAgain, labels }),
  ),
  reanchorBatch: reanchorBatch(database, heartbeat, unsigned),
  countParticipants: (studyId: string): Promise<number> =>
    readInScope(database, studyId, (tx) => countEnrolled(tx, studyId)),
});
export type AnchorActivities = ReturnType<typeof createAnchorActivities>;
