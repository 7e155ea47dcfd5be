import { readVersionAsOf, readVisitsAsOf } from '../../db/anchor/as-of.queries.js';
import { schedule } from './schedule-versions.service.js';
import { requirePast } from '../participants/as-of.js';
import type { Tx } from '../../db/client/database.js';

/**
 * The schedule now, or the one that was current at `instant` with its visits in their state then. @throws as `anchorAt`
 */
export async function scheduleAsOf(
  tx: Tx,
  participantId: string,
  instant: string | undefined,
): Promise<Record<string, unknown>> {
  if (instant === undefined) return schedule(tx, participantId);
  await requirePast(tx, participantId, instant);
  const version = await readVersionAsOf(tx, participantId, instant);
  return {
    participant_id: participantId,
    schedule_version: version ?? null,
    visits: await readVisitsAsOf(tx, participantId, instant, version),
  };
}
