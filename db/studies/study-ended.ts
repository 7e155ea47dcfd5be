import { Study } from '../models/records.js';
import type { Tx } from '../client/database.js';

const ENDED: readonly string[] = ['completed', 'archived'];

/** Whether a study of this status is completed or archived: nobody is enrolled in it. */
export const isEnded = (status: string): boolean => ENDED.includes(status);

/** Whether a study has ended, as SQL: what lies ahead in its schedules is not to do any more. */
export const hasEnded = (study: string): string => `${study}.status in ('${ENDED.join("', '")}')`;

/** What a study's status means for its participants: nothing is to do once it has ended, or while it is paused. */
export async function studyPhase(tx: Tx, id: string): Promise<'ended' | 'paused' | 'running'> {
  const study = await Study.query(tx).findById(id).select('status');
  if (study?.status === 'paused') return 'paused';
  return isEnded(study?.status ?? '') ? 'ended' : 'running';
}

/** Whether a study is completed or archived. */
export const studyHasEnded = async (tx: Tx, id: string): Promise<boolean> => (await studyPhase(tx, id)) === 'ended';
