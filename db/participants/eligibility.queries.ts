import { Eligibility } from '../models/records.js';
import { orderClause } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS = `id, study_id, participant_id, status, inclusion_criteria, exclusion_criteria, confirmed_at,
  confirmed_by_id, has_waiver,
  waiver_criteria_ids, waiver_reason, waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at,
    source_documents, imported, imported_by, original_users, created_at, updated_at`;

export async function eligibilityOf(tx: Tx, participantId: string, lock = false): Promise<Eligibility | undefined> {
  const query = Eligibility.query(tx).findOne({ participant_id: participantId });
  return lock ? query.forUpdate() : query;
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
