import type { Tx } from '../client/database.js';

/**
 * Locks a channel's pace. @returns in how many milliseconds the next message may be sent; negative: the time has passed
 */
export async function lockPace(tx: Tx, channel: string): Promise<number> {
  await tx('provider_paces').insert({ channel }).onConflict().ignore();
  const { wait_ms } = (await tx('provider_paces')
    .where({ channel })
    .forUpdate()
    .first(tx.raw('extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait_ms'))) as { wait_ms: number };
  return wait_ms;
}

/** Sets when a channel's next message may be sent: in so many milliseconds. */
export async function movePace(tx: Tx, channel: string, inMs: number): Promise<void> {
  await tx('provider_paces')
    .where({ channel })
    .update({ next_at: tx.raw(`clock_timestamp() + ? * interval '1 millisecond'`, [inMs]) });
}
