import { datasetPage } from '../../db/exports/datasets.queries.js';
import type { PageDatasetName } from '../../db/exports/datasets.queries.js';
import { jwtSecret } from '../http/security/tokens.js';
import { makeCursor, readCursor } from '../http/conventions/cursor.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';

/**
 * A page of a set: by `cursor`, or by `skip` as in other lists.
 * @returns `next_cursor` is null at the end
 * @throws 400 INVALID_CURSOR, or both ways at once
 */
export async function v1Page(
  tx: Tx,
  { settings }: Dependencies,
  name: PageDatasetName,
  studyId: string | undefined,
  query: { cursor?: string; skip?: number; limit?: number },
) {
  if (query.cursor !== undefined && (query.skip ?? 0) > 0)
    throw problem('RULE_VIOLATED', {
      detail: 'Give either cursor or skip.',
      errors: [{ path: 'query.skip', code: 'ONE_OF', message: 'give either cursor or skip' }],
    });
  const list = `${name} ${studyId ?? ''}`;
  const secret = jwtSecret(settings);
  const after = query.cursor === undefined ? undefined : readCursor(secret, list, query.cursor);
  const { items, total, last } = await datasetPage(tx, name, studyId, {
    after,
    skip: query.skip ?? 0,
    limit: query.limit ?? 50,
  });
  return { items, total, next_cursor: last ? makeCursor(secret, list, last) : null };
}
