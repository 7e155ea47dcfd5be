import { countEnrolled } from '../db/participants/enrolled.queries.js';
import { log } from '@temporalio/activity';
import { readInScope } from '../db/client/transaction.js';
import { applyAnchorCommand } from './anchor/apply.js';
import type { UnsignedMessages } from './anchor/authorization.js';
import type { LabelOptions } from './anchor/waiting.js';
import { reanchorBatch } from './anchor/reanchor.js';
import { givenUpAfterOverruns } from './operations/overruns.js';
import type { WorkerPayloads } from '../workflows/util/payload-codec.js';
import type { Database } from '../db/client/database.js';

/**
 * `heartbeat`: tells Temporal that an activity of a whole study is alive. `unsigned`: handling of messages that claim a
 * person without proof; accepted by default. `payloads`: handling of unencrypted messages; accepted by default.
 */
export interface ActivityDependencies {
  database: Database;
  heartbeat?: () => void;
  unsigned?: UnsignedMessages;
  payloads?: WorkerPayloads;
  /** Whether decisions need a new proof of identity if the study does not say: in production. */
  signaturesAskAgain?: boolean;
  /** The data shown to operators; not set: only states. */
  labels?: LabelOptions;
  /** A participant's message was executed, or failed. */
  applied?: (participantId: string) => void;
}

/** As the workflow passes it to `applyAnchorCommand`. */
const LOCAL_LIMIT = {
  limitMs: 20_000,
  tries: 3,
  report: (message: string, details: Record<string, unknown>) => log.error(message, details),
};

/** The activities of anchor workflows: one participant's, and a whole study's. */
export const createAnchorActivities = ({
  database,
  heartbeat = () => undefined,
  unsigned = 'accept',
  payloads = 'open',
  signaturesAskAgain = false,
  labels,
  applied,
}: ActivityDependencies) => ({
  applyAnchorCommand: givenUpAfterOverruns(
    LOCAL_LIMIT,
    ({ id }) => id,
    applyAnchorCommand(database, { unsigned, payloads, signaturesAskAgain, labels, ...(applied && { applied }) }),
  ),
  reanchorBatch: reanchorBatch(database, heartbeat, unsigned === 'refuse' || payloads === 'sealed'),
  countParticipants: (studyId: string): Promise<number> =>
    readInScope(database, studyId, (tx) => countEnrolled(tx, studyId)),
});
export type AnchorActivities = ReturnType<typeof createAnchorActivities>;
