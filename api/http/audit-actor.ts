import type { AuditEntry } from '../../db/audit/audit.js';
import type { Actor } from './access.js';
import type { RequestContext } from './request-context.js';

/** Who did it and by which request: the part that every audit record of a request has in common. */
export const auditActor = (
  actor: Pick<Actor, 'id'>,
  context: Pick<RequestContext, 'requestId'>,
): Pick<AuditEntry, 'user_id' | 'request_id'> => ({
  user_id: actor.id,
  request_id: context.requestId,
});

/** The names of the fields of a change whose values differ, for an audit record: names only, values may be personal. */
export function changedFields(before: Record<string, unknown>, change: Record<string, unknown>): string[] {
  return Object.keys(change)
    .filter((name) => change[name] !== undefined && JSON.stringify(before[name]) !== JSON.stringify(change[name]))
    .sort();
}
