import { sameJson } from '../../workflows/domain/util/same.js';
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

/**
 * The names of changed fields, for an audit record: names only, values may be personal. The order of an object's keys
 * is no change: the database has its own.
 */
export function changedFields(before: Record<string, unknown>, change: Record<string, unknown>): string[] {
  return Object.keys(change)
    .filter((name) => change[name] !== undefined && !sameJson(before[name], change[name]))
    .sort();
}

/**
 * What those of the changed fields have now, and had before, for an audit record: of fields that say nothing of a
 * person, as days, sites and settings of a study.
 */
export const beforeAndAfter = (
  before: Record<string, unknown>,
  change: Record<string, unknown>,
  changed: readonly string[],
  told: readonly string[],
): Record<string, unknown> =>
  Object.fromEntries(
    changed
      .filter((field) => told.includes(field))
      .flatMap((field) => [
        [field, change[field]],
        [`${field}_before`, before[field]],
      ]),
  );
