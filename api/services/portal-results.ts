import type { Tx } from '../../db/knex.js';
import { portalResults, resultsShared } from '../../db/queries/portal-results.js';
import type { PortalResult } from '../../db/queries/portal-results.js';
import type { Participant } from '../access.js';
import { invalid, problem } from '../errors.js';

const SHARED = ['none', 'summary'];

/** Holds a study's `config.portal_results` against what there is; left out it is `none`. @throws 422 naming the path */
export function acceptPortalResults(config: Record<string, unknown> | undefined): void {
  const shared = config?.portal_results;
  if (shared !== undefined && !SHARED.includes(shared as string)) throw invalid('config.portal_results', 'ENUM', `must be one of ${SHARED.join(', ')}`);
}

/** A participant's own results. @throws 403 RESULTS_NOT_SHARED where the study keeps them to itself */
export async function ownResults(tx: Tx, { id, study_id }: Pick<Participant, 'id' | 'study_id'>, range: { skip: number; limit: number }): Promise<{ items: PortalResult[]; total: number }> {
  if (await resultsShared(tx, study_id) === 'none') throw problem('RESULTS_NOT_SHARED');
  return portalResults(tx, id, range);
}
