import { prepared } from '../client/prepared.js';
import type { Tx } from '../client/database.js';

/**
 * Locks a channel's pace. @returns in how many milliseconds its provider may be given the next message; below zero: it
 * waits for one
 */
export async function lockPace(tx: Tx, channel: string): Promise<number> {
  await prepared(tx, 'insert into provider_paces (channel) values ($1) on conflict do nothing', [channel]);
  const [row] = await prepared<{ wait_ms: number }>(
    tx,
    `select extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait_ms from provider_paces where channel = $1 for update`,
    [channel],
  );
  return row!.wait_ms;
}

/** Says when a channel's next message may go: in so many milliseconds. */
export async function movePace(tx: Tx, channel: string, inMs: number): Promise<void> {
  await prepared(
    tx,
    `update provider_paces set next_at = clock_timestamp() + $2 * interval '1 millisecond' where channel = $1`,
    [channel, inMs],
  );
}
