import { nowMs } from '../../../db/client/clock.js';
import { withdrawalOf } from '../../../db/portal/portal.queries.js';
import { isStandingLogin } from '../../../db/portal/portal-logins.queries.js';
import { participantWithdrawn } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import type { SessionCaller } from '../sessions/sessions-caller.service.js';
import { rejection } from './sync-items.js';
import type { SyncItem, ItemResult } from './sync-items.js';
import type { Tx } from '../../../db/client/database.js';

/** How long after a withdrawal devices may deliver earlier recordings. */
const DELIVERY_DAYS = 30;

/**
 * The items of a withdrawn participant that were recorded before the withdrawal; the others are answered in `results`.
 * @param aheadMs by how much the device's clock is ahead
 * @throws 401 an expired token whose login was ended otherwise than by the withdrawal; 403 PARTICIPANT_WITHDRAWN 30
 *   days after the withdrawal
 */
export async function acceptsLateDelivery(
  tx: Tx,
  { participantId, withdrawn: late, expiredLogin }: SessionCaller,
  items: readonly SyncItem[],
  results: ItemResult[],
  aheadMs: number,
): Promise<readonly SyncItem[]> {
  if (!late || participantId === null) return items;
  const end = await withdrawalOf(tx, participantId);
  if (end === null || nowMs() > end + DELIVERY_DAYS * 86_400_000) throw participantWithdrawn();
  if (expiredLogin !== undefined && !(await isStandingLogin(tx, expiredLogin.whose, expiredLogin.id)))
    throw problem('INVALID_TOKEN');
  return items.filter((item) => {
    if (timesIn(item).every((instant) => instant - aheadMs <= end)) return true;
    results[item.index] = rejection(
      item.kind,
      item.given.id,
      'PARTICIPANT_WITHDRAWN',
      'was recorded after the participant had withdrawn',
    );
    return false;
  });
}

/** A session that began before is taken, as staff send it: without it, results from before have no place. */
const timesIn = (item: SyncItem): number[] =>
  item.kind === 'response' ? item.given.content.at : [Date.parse(item.given.startedAt)];
