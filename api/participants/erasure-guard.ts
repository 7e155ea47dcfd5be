import { erasedAt } from '../../db/participants/erasure.queries.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Refuses changes that the database would silently drop for an erased participant, as it does with later data of the
 * capture system. The participant must be locked, or its erasure could come in between.
 * @param fields names of the changed fields, without values
 * @param within the object of the body that contains them
 * @throws 409 PARTICIPANT_ERASED when there are any, and the participant is erased
 */
export async function assertNotErased(
  tx: Tx,
  participantId: string,
  fields: readonly string[],
  within?: string,
): Promise<void> {
  if (fields.length === 0 || !(await erasedAt(tx, participantId))) return;
  const errors = fields.map((field) => ({
    path: within === undefined ? field : `${within}.${field}`,
    code: 'ERASED',
    message: `${field} is not kept of a participant whose identity was erased`,
  }));
  throw problem('PARTICIPANT_ERASED', {
    detail: `The participant’s identity was erased; not kept any more: ${fields.join(', ')}.`,
    errors,
  });
}
