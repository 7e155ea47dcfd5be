import type { AuditTrail } from '../../db/audit/audit.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import {
  insertVerification,
  latestVerifications,
  verificationById,
} from '../../db/audit/audit-verifications.queries.js';
import type { VerificationRow } from '../../db/audit/audit-verifications.queries.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { requireChain } from './audit.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** Requests a verification in the background. @throws 404 for a study that never existed */
export async function orderVerification(
  { tx, audit, actor, context }: { tx: Tx; audit: AuditTrail; actor: Actor; context: RequestContext },
  studyId: string | undefined,
) {
  await requireChain(tx, studyId);
  const { id } = await insertVerification(tx, studyId ?? null, actor.id);
  await putOutbox(tx, [{ topic: 'audit-verification', studyId: null, subject: id }]);
  audit.record({
    ...auditActor(actor, context),
    study_id: null,
    action: 'audit_verification_requested',
    resource_type: 'audit_log',
    resource_id: studyId ?? null,
    metadata: { verification_id: id },
  });
  return { verification_id: id, status: 'pending', status_url: `/api/audit-verifications/${id}` };
}

/** A verification for display. @throws 404 */
export async function verification(tx: Tx, id: string) {
  const row = await verificationById(tx, id);
  if (!row) throw problem('NOT_FOUND', { detail: 'There is no such verification.' });
  return shown(row);
}

/** The last verifications, newest first, for display. */
export const verifications = async (tx: Tx, limit: number) => (await latestVerifications(tx, limit)).map(shown);

export type ShownVerification = ReturnType<typeof shown>;
function shown(row: VerificationRow) {
  const { rows_verified, rows_total, chains_verified, chains_total } = row;
  return {
    verification_id: row.id,
    study_id: row.chain,
    status: row.status,
    progress: { rows_verified, rows_total, chains_verified, chains_total },
    result: row.result,
    error: row.error,
    created_at: row.created_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
  };
}
