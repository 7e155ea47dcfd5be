import type { Tx } from '../client/database.js';
import type { LocalSessionRow } from './offline.queries.js';

/** Id and version of a battery that a device names, and of the one that a new session would have. */
interface AdvancedBattery {
  named: [id: number | null, version: number | null];
  found: [id: number | null, version: number | null];
}

/** Updates an unfinished offline session to the state in which its device ended it. */
export async function advanceSession(
  tx: Tx,
  row: Pick<
    LocalSessionRow,
    'id' | 'status' | 'completed_at' | 'content_hash' | 'start_hash' | 'visit_id' | 'device_id' | 'started_device_id'
  > & { quality_flags: string; clock_skew_ms: number | null; battery: AdvancedBattery } & Partial<
      Record<'timezone' | 'language', string>
    >,
): Promise<void> {
  const { id, battery, ...change } = row;
  const [named, version] = battery.named;
  const [found, foundVersion] = battery.found;
  await tx('assessment_sessions')
    .where({ id })
    .update({
      ...change,
      battery_id: tx.raw('coalesce(?::integer, battery_id, ?::integer)', [named, found]),
      // The version of the battery that it has already, else the one that a new session would have of it.
      battery_version: tx.raw(
        `coalesce(?::integer, case when coalesce(?::integer, battery_id) = battery_id then battery_version end,
          case when coalesce(?::integer, battery_id, ?) = ? then ?::integer end)`,
        [version, named, named, found, found, foundVersion],
      ),
    });
}
