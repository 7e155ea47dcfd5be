import { portalResults, resultsShared } from '../../db/portal/portal-results.queries.js';
import { studyShownTo } from '../../db/studies/study-face.queries.js';
import type { PortalResult as ResultRow } from '../../db/portal/portal-results.queries.js';
import { titlesOf } from '../../workflows/domain/assessment/titles.js';
import { hasBuiltIn, primaryLanguage } from '../../workflows/domain/notifications/built-in.js';
import { TASKS } from '../../workflows/domain/assessment/tasks.js';
import type { Titles } from '../../workflows/domain/assessment/titles.js';
import { visitTitle } from '../../workflows/domain/scheduling/visit-title.js';
import type { ParticipantCaller } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

/** Tasks and metrics for which the participant's page has names in each of its languages. */
const NAMED: ReadonlySet<string> = new Set([
  ...Object.entries(TASKS).flatMap(([task, { metrics }]) => [task, ...metrics]),
  ...['mean_rt', 'median_rt', 'sd_rt', 'accuracy', 'total_trials'],
]);
type PortalResult = Omit<ResultRow, 'tasks' | 'modules'> & { tasks: (ResultRow['tasks'][number] & Titles)[] };

/**
 * A participant's own results, with the study's texts in the reader's language. @throws 403 RESULTS_NOT_SHARED if the
 * study does not share them
 */
export async function ownResults(
  tx: Tx,
  {
    id,
    study_id,
    preferred_language,
    caregiver,
  }: Pick<ParticipantCaller, 'id' | 'study_id' | 'preferred_language' | 'caregiver'>,
  range: { skip: number; limit: number },
): Promise<{ items: PortalResult[]; total: number }> {
  if ((await resultsShared(tx, study_id)) === 'none') throw problem('RESULTS_NOT_SHARED');
  const language = caregiver?.preferred_language ?? preferred_language;
  const { items, total } = await portalResults(tx, id, range);
  const readers = {
    default_language: (await studyShownTo(tx, id))?.default_language ?? null,
    isBuiltIn: (key: string, language: string) => hasBuiltIn(primaryLanguage(language)) && NAMED.has(key),
  };
  return {
    items: items.map(({ modules, tasks, ...item }) => ({
      ...item,
      visit_name: item.visit_name === null ? null : visitTitle(item.visit_name),
      tasks: tasks.map((one) => ({
        ...one,
        ...titlesOf(one.task, Object.keys(one.metrics), modules ?? [], language, readers),
      })),
    })),
    total,
  };
}
