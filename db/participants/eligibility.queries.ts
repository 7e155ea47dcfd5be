import { lockByName } from '../client/advisory-lock.js';
import { Eligibility } from '../models/records.js';
import { orderClause } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS = `id, study_id, participant_id, status, inclusion_criteria, exclusion_criteria, confirmed_at,
  confirmed_by_id, has_waiver,
  waiver_criteria_ids, waiver_reason, waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at,
    source_documents, imported, imported_by, original_users, created_at, updated_at`;

export const eligibilityOf = async (tx: Tx, participantId: string): Promise<Eligibility | undefined> =>
  Eligibility.query(tx).findOne({ participant_id: participantId });

/** The same, locked until the commit. So is one that is not there yet: the second who writes it sees the first's. */
export async function eligibilityForUpdate(tx: Tx, participantId: string): Promise<Eligibility | undefined> {
  await lockByName(tx, `eligibility ${participantId}`);
  return Eligibility.query(tx).findOne({ participant_id: participantId }).forUpdate();
}

/** Replaces the participant's eligibility assessment. */
export async function putEligibility(
  tx: Tx,
  assessment: Partial<Eligibility> & { study_id: string; participant_id: string },
): Promise<Eligibility> {
  await Eligibility.query(tx).insert(assessment).onConflict('participant_id').merge();
  const stored = await Eligibility.query(tx).findOne({ participant_id: assessment.participant_id }).throwIfNotFound();
  return orderClause(stored, COLUMNS);
}
