import type { Static } from 'typebox';
import { listAudit } from '../../db/audit/audit.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { NewAuditRecord } from './audit.schemas.js';
import type { Dependencies } from '../dependencies.js';
import { requireChain } from './audit.service.js';
import type { RequestContext } from '../http/request-context.js';

const MAX_METADATA_CHARS = 10_000;

/**
 * Records an action that the deployment defines, in the chain of its study or of the service. It is sealed with the
 * commit, and returned as sealed.
 * @throws 400 UNKNOWN_ACTION or METADATA_TOO_LONG, 404 for a study that never existed
 */
export async function recordAction(
  { database, settings }: Dependencies,
  actor: Actor,
  context: RequestContext,
  { action, study_id, resource_type, resource_id, reason, metadata = {} }: Static<typeof NewAuditRecord>,
): Promise<unknown> {
  const known = settings.COMPLIANCE_ACTIONS;
  if (!known.includes(action)) throw refused('action', 'UNKNOWN_ACTION', `must be one of ${known.join(', ')}`);
  if (JSON.stringify(metadata).length > MAX_METADATA_CHARS)
    throw refused('metadata', 'METADATA_TOO_LONG', `is longer than ${MAX_METADATA_CHARS} characters of JSON`);
  const studyId = study_id?.toLowerCase() ?? null;
  await withStudyScope(database, '*', async ({ tx, audit }) => {
    await requireChain(tx, studyId ?? undefined);
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action,
      resource_type,
      resource_id,
      metadata: { ...metadata, reason },
    });
  });
  const { items } = await readInScope(database, '*', (tx) =>
    listAudit(tx, { action, request_id: context.requestId, user_id: actor.id, skip: 0, limit: 1 }),
  );
  return items[0];
}

function refused(path: string, code: string, rule: string) {
  const message = `${path} ${rule}`;
  return problem('RULE_VIOLATED', { detail: `${message}.`, errors: [{ path, code, message }] });
}
