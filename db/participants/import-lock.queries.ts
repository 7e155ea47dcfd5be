import { execute } from '../client/query.js';
import { lockByName } from '../client/advisory-lock.js';
import type { Tx } from '../client/database.js';

/** What stands before the study's id in the lock's name. */
export const IMPORTS = 'participant-import ';

/**
 * Imports of a study run one after another: two files with the same participants in another order would wait for each
 * other in a circle.
 */
export const lockImports = (tx: Tx, studyId: string): Promise<void> => lockByName(tx, IMPORTS + studyId);

/**
 * Work on many of a study's participants in one transaction takes this before it locks any of them: it has an order of
 * its own, an import that of its file, and they would wait for each other in a circle. It does not exclude other such
 * work.
 */
export async function keepOutImports(tx: Tx, studyId: string): Promise<void> {
  await execute(tx, 'select pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [IMPORTS + studyId]);
}
