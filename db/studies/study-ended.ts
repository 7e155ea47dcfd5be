import { Study } from '../models/records.js';
import type { Tx } from '../client/database.js';

const ENDED = ['completed', 'archived'];

/** Whether a study has ended, as SQL: what lies ahead in its schedules is not to do any more. */
export const hasEnded = (study: string): string => `${study}.status in ('${ENDED.join("', '")}')`;

/** Whether a study is completed or archived. */
export const studyHasEnded = async (tx: Tx, id: string): Promise<boolean> =>
  (await Study.query(tx).findById(id).whereIn('status', ENDED).select('id')) !== undefined;
