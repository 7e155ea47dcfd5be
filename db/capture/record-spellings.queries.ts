import { lockByName } from '../client/advisory-lock.js';
import type { Tx } from '../client/database.js';

/**
 * Whether the study exchanges data with a capture system, or did: record names that differ only in case are one record
 * there.
 */
export async function namesRecords(tx: Tx, studyId: string): Promise<boolean> {
  const found: unknown = await tx('studies as s')
    .leftJoin('datacapture_configs as c', 'c.study_id', 's.id')
    .where('s.id', studyId)
    .where((either) => {
      void either.where('s.integration_mode', 'datacapture').orWhere('s.datacapture_enabled', true);
      void either.orWhereNotNull('c.id');
    })
    .first('s.id');
  return found !== undefined;
}

/**
 * Whether another participant has the external id in other case, where it names a record of a capture system.
 * Concurrent requests for one record wait for each other. It goes through the study's participants (row-level security
 * keeps `folded` from an index).
 * @param own the participant whose external id it is to be, if there is one
 */
export async function otherSpellingTaken(tx: Tx, studyId: string, externalId: string, own?: string): Promise<boolean> {
  if (!(await namesRecords(tx, studyId))) return false;
  await lockByName(tx, `record/${studyId}/${externalId.toLowerCase()}`);
  const others = tx('participants')
    .where({ study_id: studyId })
    .whereRaw('folded(external_id) = folded(?)', [externalId])
    .whereNot({ external_id: externalId });
  if (own !== undefined) void others.whereNot({ id: own });
  const found: unknown = await others.first('id');
  return found !== undefined;
}

/** Participants with one of the external ids in any case, except those created since a given time (by an import). */
export async function heldInAnyCase(
  tx: Tx,
  studyId: string,
  since: string,
  externalIds: readonly string[],
): Promise<{ participant_code: string; external_id: string }[]> {
  if (externalIds.length === 0) return [];
  const rows = (await tx('participants')
    .where({ study_id: studyId })
    .whereRaw('(created_at < ?::timestamptz or created_at > statement_timestamp())', [since])
    .whereRaw('folded(external_id) in (select folded(t) from unnest(?::text[]) t)', [[...externalIds]])
    .select('participant_code', 'external_id')) as { participant_code: string; external_id: string }[];
  return rows;
}
