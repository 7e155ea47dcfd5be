import type { AuditEntry } from '../../db/audit/audit.js';
import type { Actor } from './access.js';
import type { RequestContext } from './request-context.js';

/** The actor and the request: the common fields of all audit records of a request. */
export const auditActor = (
  actor: Pick<Actor, 'id'>,
  context: Pick<RequestContext, 'requestId'>,
): Pick<AuditEntry, 'user_id' | 'request_id'> => ({
  user_id: actor.id,
  request_id: context.requestId,
});

/** An unchanged value is usually the same object, so that a long one is not serialized. */
const isSame = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** The names of changed fields, for an audit record: names only, values may be personal. */
export function changedFields(before: Record<string, unknown>, change: Record<string, unknown>): string[] {
  return Object.keys(change)
    .filter((name) => change[name] !== undefined && !isSame(before[name], change[name]))
    .sort();
}
