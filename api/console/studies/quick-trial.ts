import type { Tx } from '../../../db/client/database.js';
import { enrolledIn } from '../../studies/policy-dry-run.service.js';

/** Participants whose plans are tried while a page is made: a tenth of a second. */
const QUICK_TRIAL = 250;

/** A dry run for a page. Undefined: the study has so many participants that the page does not wait for it. */
export const trialIfQuick = async <T>(tx: Tx, studyId: string, compute: () => Promise<T>): Promise<T | undefined> =>
  (await enrolledIn(tx, studyId)) > QUICK_TRIAL ? undefined : compute();
