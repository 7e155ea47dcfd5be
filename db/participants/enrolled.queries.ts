import { raw } from 'objection';
import { Participant, Study } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** The ids of a study's enrolled participants after `after`, in order. */
export async function enrolledAfter(tx: Tx, studyId: string, after: string, limit: number): Promise<string[]> {
  const rows = await enrolledOf(tx, studyId).where('id', '>', after).orderBy('id').limit(limit).select('id');
  return rows.map(({ id }) => id);
}

export const countEnrolled = (tx: Tx, studyId: string): Promise<number> => enrolledOf(tx, studyId).resultSize();

const enrolledOf = (tx: Tx, studyId: string) =>
  Study.relatedQuery<Participant>('participants', tx).for(studyId).where({ status: 'enrolled' });

/** Enrolled participants of every study that were created at least this long ago, after `after`, in order of ids. */
export async function settledAfter(
  tx: Tx,
  after: string,
  { limit, seconds }: { limit: number; seconds: number },
): Promise<Pick<Participant, 'id' | 'study_id' | 'site_id'>[]> {
  return Participant.query(tx)
    .where({ status: 'enrolled' })
    .where('id', '>', after)
    .where('created_at', '<', raw(`clock_timestamp() - ? * interval '1 second'`, [seconds]))
    .orderBy('id')
    .limit(limit)
    .select('id', 'study_id', 'site_id');
}
