import { setTimeout as sleep } from 'node:timers/promises';
import { takePlace } from '../../../db/operations/rate-limits.queries.js';
import type { Database } from '../../../db/client/database.js';

/**
 * The rate limit of a sync's calls to one server: a burst after a pause, then one each 250 ms, 300 in any minute. The
 * server bans an address permanently at 600.
 */
const BURST = 60,
  APART_MS = 250;

/**
 * Waits for the turn of a sync's call, with one queue for each server and all workers; triggers and pushes, which are
 * single calls, do not queue.
 */
export async function acquireRateSlot(database: Database, apiUrl: string): Promise<void> {
  const waitMs = await takePlace(database, `capture:${new URL(apiUrl).host}`, APART_MS, BURST);
  if (waitMs > 0) await sleep(waitMs);
}
