import { Participant, Randomization } from '../models/records.js';
import { orderClause } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS =
  'id, study_id, participant_id, arm, randomized_at, stratum, imported, imported_by, original_users, created_at';

export async function randomizationOf(tx: Tx, participantId: string): Promise<Randomization | undefined> {
  return Randomization.query(tx).findOne({ participant_id: participantId });
}

/** Records a participant's only randomization, and its arm with the participant. */
export async function insertRandomization(
  tx: Tx,
  row: Partial<Randomization> & { study_id: string; participant_id: string; arm: string },
): Promise<Randomization> {
  const inserted = await Randomization.query(tx).insert(row).returning('*');
  await Participant.query(tx).findById(row.participant_id).patch({ arm: row.arm });
  return orderClause(inserted, COLUMNS);
}
