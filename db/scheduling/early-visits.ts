import type { AuditEntry, AuditTrail } from '../audit/audit.js';
import type { Tx } from '../client/database.js';
import { keepOutImports } from '../participants/import-lock.queries.js';
import { lockZones, returnEarlyVisits } from './visit-statuses.queries.js';

/**
 * Before a time zone of a whole study or site is changed, and before any row is locked for that: the change plans the
 * reminders of many participants, as an import does in the order of its file.
 */
export async function beforeZoneChange(tx: Tx, studyId: string): Promise<void> {
  await keepOutImports(tx, studyId);
  await lockZones(tx, studyId);
}

/**
 * After a change of a time zone: what was opened or missed on a day that is still ahead there counts as of today.
 * `beforeZoneChange` comes before the change, `lockZones` before that of one participant.
 * @param by who changed the zone, as the audit log names them
 */
export async function returnEarly(
  { tx, audit }: { tx: Tx; audit: AuditTrail },
  by: Pick<AuditEntry, 'user_id' | 'request_id'>,
  of: Parameters<typeof returnEarlyVisits>[1],
): Promise<void> {
  const moved = await returnEarlyVisits(tx, of);
  if (moved.length === 0) return;
  const idsOf = (status: string) => moved.filter((visit) => visit.status === status).map(({ id }) => id);
  audit.record({
    ...by,
    study_id: of.studyId,
    action: 'visit_statuses_updated',
    resource_type: 'visit',
    resource_id: null,
    metadata: { opened: idsOf('open'), missed: [], returned: idsOf('scheduled') },
  });
}
