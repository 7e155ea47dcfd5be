import { setTimeout as sleep } from 'node:timers/promises';
import { takePlace } from '../../../db/operations/rate-limits.queries.js';
import type { Database, Tx } from '../../../db/client/database.js';

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

/** The pushes of a long outage wait for hours. */
const LONGEST_QUEUE_MS = 86_400_000;

/**
 * Takes a place among the pushes to one server: they keep their distance in order of arrival, of all studies and on all
 * workers, since the server bans the address that they come from.
 * @param calls of this push
 * @returns the milliseconds until its turn
 */
export const placeOfPush = (tx: Tx, apiUrl: string, calls: number, callsPerMinute: number): Promise<number> =>
  takePlace(
    tx,
    `capture-push:${new URL(apiUrl).host}`,
    Math.ceil((60_000 / callsPerMinute) * calls),
    1,
    LONGEST_QUEUE_MS,
  );
