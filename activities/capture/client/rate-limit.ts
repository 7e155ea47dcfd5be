import { setTimeout as sleep } from 'node:timers/promises';
import { takePlace } from '../../../db/operations/rate-limits.queries.js';
import type { Database } from '../../../db/client/database.js';

/**
 * Calls of syncs to one server: so many at once after a pause, then one each 250 ms, 300 in any minute. It bans an
 * address for ever at 600.
 */
const BURST = 60,
  APART_MS = 250;

/**
 * Waits for the turn of a sync's call, one queue a server for all workers; triggers and pushes, which come one by one,
 * do not take turns.
 */
export async function acquireRateSlot(database: Database, apiUrl: string): Promise<void> {
  const waitMs = await takePlace(database, `capture:${new URL(apiUrl).host}`, APART_MS, BURST);
  if (waitMs > 0) await sleep(waitMs);
}
