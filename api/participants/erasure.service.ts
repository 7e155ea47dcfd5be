import { randomBytes } from 'node:crypto';
import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import {
  eraseIdentity,
  erasedAt,
  knownItems,
  storedDataOf,
  mappedIdentityItems,
} from '../../db/participants/erasure.queries.js';
import { participantForUpdate } from '../../db/participants/participants.queries.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { getParticipantOrThrow, withdraw } from './participants.service.js';
import type { RequestScope } from '../http/state.js';

/**
 * Removes the participant's identity fields; an enrolled participant is withdrawn first. Dates, decisions, results and
 * the audit chain stay: they name the participant by id, and by code or a pseudonym. The reason is stored with the
 * participant and not in the audit log, which has no free text about persons.
 * @throws 404, 409 PARTICIPANT_ERASED, 400 UNKNOWN_FORM_ITEM: a mistyped name would leave its value for good
 */
export async function eraseParticipant(
  change: RequestScope,
  id: string,
  input: { reason: string; replace_code?: boolean; form_items?: string[] },
) {
  const { tx, audit, actor, context } = change;
  // A running decision has read the data that are removed here: this waits for its record, which would otherwise be
  // written afterwards.
  await lockAnchors(tx, [id]);
  const before = await participantForUpdate(tx, id);
  if (!before) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  if (await erasedAt(tx, id))
    throw problem('PARTICIPANT_ERASED', { detail: 'The participant’s identity was erased already.' });
  await requireKnownItems(tx, before, input.form_items ?? []);
  if (before.status !== 'withdrawn') await withdraw(change, id, { reason: input.reason });
  const code = input.replace_code ? `ERASED-${randomBytes(5).toString('hex').toUpperCase()}` : null;
  const items = [...(await mappedIdentityItems(tx, before.study_id)), ...(input.form_items ?? [])];
  const erased = await eraseIdentity(tx, {
    id,
    study_id: before.study_id,
    by: actor.id,
    reason: input.reason,
    code,
    items,
  });
  // After the message of the withdrawal, which ends the workflow.
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

async function requireKnownItems(
  tx: RequestScope['tx'],
  { id, study_id }: { id: string; study_id: string },
  names: readonly string[],
): Promise<void> {
  const known = await knownItems(tx, { study_id, participant_id: id }, names);
  const errors = names.flatMap((name, i) =>
    known.has(name)
      ? []
      : [
          {
            path: `form_items.${i}`,
            code: 'UNKNOWN_FORM_ITEM',
            message: `form_items.${i} is the name of no item of a form of the study`,
          },
        ],
  );
  if (errors.length > 0)
    throw problem('RULE_VIOLATED', { detail: `${errors[0]!.message}: nothing was erased.`, errors });
}

/**
 * All stored data of a participant, as one document for that person. The access is recorded.
 * @throws 404
 */
export async function dataExport({ tx, audit, actor, context }: RequestScope, id: string) {
  const participant = await getParticipantOrThrow(tx, id);
  const { participant: own, ...parts } = await storedDataOf(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: 'participant_data_exported',
    resource_type: 'participant',
    resource_id: id,
  });
  return { exported_at: nowIso(), participant: { ...own![0], site_code: participant.site_code }, ...parts };
}
