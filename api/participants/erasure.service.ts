import { randomBytes } from 'node:crypto';
import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { eraseIdentity, erasedAt, keptOf, mappedIdentityItems } from '../../db/participants/erasure.queries.js';
import { participantForUpdate } from '../../db/participants/participants.queries.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { getParticipantOrThrow, withdraw } from './participants.service.js';
import type { RequestScope } from '../http/request-scope.js';

/**
 * Removes what says who the participant is; who still takes part is withdrawn first. Dates, decisions, results and the
 * audit chain stay: they name the participant by its id, and by its code or a pseudonym for it. The reason is kept
 * with the participant and not in the audit log, which holds no free text on persons.
 * @throws 404, 409 PARTICIPANT_ERASED
 */
export async function eraseParticipant(
  change: RequestScope,
  id: string,
  given: { reason: string; replace_code?: boolean; form_items?: string[] },
) {
  const { tx, audit, actor, context } = change;
  // A decision that is being made has read what is removed here: its record is waited for, or it would be written
  // afterwards.
  await lockAnchors(tx, [id]);
  const before = await participantForUpdate(tx, id);
  if (!before) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  if (await erasedAt(tx, id))
    throw problem('PARTICIPANT_ERASED', { detail: 'The participant’s identity was erased already.' });
  if (before.status !== 'withdrawn') await withdraw(change, id, { reason: given.reason });
  const code = given.replace_code ? `ERASED-${randomBytes(5).toString('hex').toUpperCase()}` : null;
  const items = [...(await mappedIdentityItems(tx, before.study_id)), ...(given.form_items ?? [])].map((name) =>
    name.toLowerCase(),
  );
  const erased = await eraseIdentity(tx, {
    id,
    study_id: before.study_id,
    by: actor.id,
    reason: given.reason,
    code,
    items,
  });
  // Behind the message of the withdrawal, which ends the workflow.
  await putOutbox(tx, [{ topic: 'participant-erased', studyId: before.study_id, subject: id }]);
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'participant_erased',
    resource_type: 'participant',
    resource_id: id,
    metadata: { ...erased, code_replaced: code !== null },
  });
  return { participant: await getParticipantOrThrow(tx, id), erased_at: await erasedAt(tx, id), erased };
}

/**
 * Everything that is kept of a participant, as one document for the person themself. That it was read is recorded.
 * @throws 404
 */
export async function dataExport({ tx, audit, actor, context }: RequestScope, id: string) {
  const participant = await getParticipantOrThrow(tx, id);
  const { participant: own, ...parts } = await keptOf(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: 'participant_data_exported',
    resource_type: 'participant',
    resource_id: id,
  });
  return { exported_at: nowIso(), participant: { ...own![0], site_code: participant.site_code }, ...parts };
}
