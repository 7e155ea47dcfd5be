import type { Database } from '../db/knex.js';
import { readInScope } from '../db/transaction.js';
import { applyAnchorCommand } from './anchor/apply.js';
import { reanchorBatch } from './anchor/reanchor.js';

/** `heartbeat`: tells Temporal that an activity of a whole study lives. */
export interface ActivityDependencies {
  database: Database;
  heartbeat?: () => void;
  /** Whether decisions need a fresh proof of identity where the study does not say: in production. */
  signaturesAskAgain?: boolean;
}

/** The activities of the anchor's processes: one participant's, and a study's as a whole. */
export const createAnchorActivities = ({
  database,
  heartbeat = () => undefined,
  signaturesAskAgain = false,
}: ActivityDependencies) => ({
  applyAnchorCommand: applyAnchorCommand(database, signaturesAskAgain),
  reanchorBatch: reanchorBatch(database, heartbeat),
  countParticipants: (studyId: string): Promise<number> =>
    readInScope(database, studyId, async (tx) => {
      const row = await tx('participants').where({ study_id: studyId, status: 'enrolled' }).count({ n: '*' }).first();
      return Number(row?.n ?? 0);
    }),
});
export type AnchorActivities = ReturnType<typeof createAnchorActivities>;
