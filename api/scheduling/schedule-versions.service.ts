import {
  listVersions,
  readVersion,
  plannedAndOther,
  versionVisits,
} from '../../db/scheduling/schedule-versions.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';

interface VersionRow extends Record<string, unknown> {
  id: string;
  is_current: boolean;
  scheduling_settings: { carried_visit_ids?: string[] };
}

/** The summary of the current version; null if there is none. */
export const currentVersion = (services: Dependencies, studyId: string, participantId: string): Promise<unknown> =>
  readInScope(
    services.database,
    studyId,
    async (tx) => ((await listVersions(tx, participantId)) as VersionRow[]).find((v) => v.is_current) ?? null,
  );

/** A version in full with its visits. @throws 404 */
export async function versionWithVisits(
  tx: Tx,
  participantId: string,
  versionId: string,
): Promise<Record<string, unknown>> {
  const version = (await readVersion(tx, participantId, versionId)) as VersionRow | undefined;
  if (!version) throw problem('NOT_FOUND', { detail: 'There is no such schedule version.' });
  return { ...version, visits: await versionVisits(tx, version) };
}

/** The current schedule with its visits, and unscheduled ones. */
export async function schedule(tx: Tx, participantId: string): Promise<Record<string, unknown>> {
  const current = ((await listVersions(tx, participantId)) as VersionRow[]).find((v) => v.is_current);
  const version = current && ((await readVersion(tx, participantId, current.id)) as VersionRow);
  const visits = await plannedAndOther(tx, participantId, version);
  return { participant_id: participantId, schedule_version: version ?? null, visits };
}

export interface Moved {
  visit_key: unknown;
  name: unknown;
  change: 'moved' | 'unchanged' | 'added' | 'removed';
  from: unknown;
  to: unknown;
}

/** The differences of two versions, by the visits' stable keys. @throws 404 */
export async function versionDiff(
  tx: Tx,
  participantId: string,
  a: string,
  b: string,
): Promise<{ from: string; to: string; visits: Moved[] }> {
  const [before, after] = await Promise.all([
    versionWithVisits(tx, participantId, a),
    versionWithVisits(tx, participantId, b),
  ]);
  return { from: a, to: b, visits: movedBetween(before.visits as VisitOfVersion[], after.visits as VisitOfVersion[]) };
}

export type VisitOfVersion = Record<string, unknown>;

/** The differences of two versions' visits, by the visits' stable keys. */
export function movedBetween(before: readonly VisitOfVersion[], after: readonly VisitOfVersion[]): Moved[] {
  const byKey = (visits: readonly VisitOfVersion[]) => new Map(visits.map((visit) => [visit.visit_key, visit]));
  const [left, right] = [byKey(before), byKey(after)];
  return [...new Set([...left.keys(), ...right.keys()])].map((key): Moved => {
    const [from, to] = [left.get(key), right.get(key)];
    const change = !from ? 'added' : !to ? 'removed' : from.target_date === to.target_date ? 'unchanged' : 'moved';
    return {
      visit_key: key,
      name: (to ?? from)!.name,
      change,
      from: from?.target_date ?? null,
      to: to?.target_date ?? null,
    };
  });
}
