import { returnEarlyVisits } from '../../db/scheduling/visit-statuses.queries.js';
import { auditActor } from '../http/audit-actor.js';
import type { RequestScope } from '../http/state.js';

/** After a change of a time zone: what was opened or missed on a day that is still ahead there counts as of today. */
export async function returnEarly(
  { tx, audit, actor, context }: RequestScope,
  of: Parameters<typeof returnEarlyVisits>[1],
): Promise<void> {
  const moved = await returnEarlyVisits(tx, of);
  if (moved.length === 0) return;
  const idsOf = (status: string) => moved.filter((visit) => visit.status === status).map(({ id }) => id);
  audit.record({
    ...auditActor(actor, context),
    study_id: of.studyId,
    action: 'visit_statuses_updated',
    resource_type: 'visit',
    resource_id: null,
    metadata: { opened: idsOf('open'), missed: [], returned: idsOf('scheduled') },
  });
}
