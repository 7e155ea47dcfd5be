import { invalid } from '../../http/errors.js';
const SHARED = ['none', 'summary'];

/** Validates a study's `config.portal_results`; default `none`. @throws 422 naming the path */
export function acceptPortalResults(config: Record<string, unknown> | undefined): void {
  const shared = config?.portal_results;
  if (shared !== undefined && !SHARED.includes(shared as string))
    throw invalid('config.portal_results', 'ENUM', `must be one of ${SHARED.join(', ')}`);
}
