import { readAnchorAsOf } from '../../db/anchor/as-of.queries.js';
import type { AnchorResponse } from '../../db/anchor/anchors.queries.js';
import { anchorOf } from './anchors.service.js';
import { requirePast } from '../participants/as-of.js';
import type { Tx } from '../../db/client/database.js';

/**
 * The anchor now, or as it was on record at `instant`. @throws 400 IN_FUTURE, 404 before the participant was on record
 */
export async function anchorAsOf(tx: Tx, participantId: string, instant: string | undefined): Promise<AnchorResponse> {
  if (instant === undefined) return anchorOf(tx, participantId);
  await requirePast(tx, participantId, instant);
  return (await readAnchorAsOf(tx, participantId, instant))!;
}
