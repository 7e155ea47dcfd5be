import { existenceAt } from '../../db/anchor/as-of.queries.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

/** The database's clock decides, since it wrote the record. */
export async function requirePast(tx: Tx, participantId: string, instant: string): Promise<void> {
  const { ahead, existed } = await existenceAt(tx, participantId, instant);
  if (ahead) {
    const message = 'query.as_of lies in the future';
    throw problem('RULE_VIOLATED', {
      detail: `${message}: what will be believed then is not known.`,
      errors: [{ path: 'query.as_of', code: 'IN_FUTURE', message }],
    });
  }
  if (!existed) throw problem('NOT_FOUND', { detail: 'The participant was not on record then.' });
}
