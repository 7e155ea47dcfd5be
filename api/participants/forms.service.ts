import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { FormInstance } from '../../db/models/records.js';
import { formForUpdate, insertForm, sizeOfForms, updateForm } from '../../db/participants/forms.queries.js';
import { MAX_FORMS_BYTES, boundFaults } from '../../workflows/domain/participants/fact-bounds.js';
import { invalid, invalidFields, problem } from '../http/errors.js';
import { mergePatch } from '../http/conventions/merge-patch.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import { assertNotErased } from './erasure-guard.js';
import { getParticipantOrThrow, lockForShare, announceSourcesChanged } from './participants.service.js';
import { signatureOf } from './signatures.service.js';
import type { SignatureRequest } from './signatures.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

type Status = FormInstance['status'];
/** The allowed status changes of a form. A complete one may be reopened; a signature and a lock are final. */
const next: Record<Status, readonly Status[]> = {
  draft: ['complete', 'signed'],
  complete: ['draft', 'signed'],
  signed: ['locked'],
  locked: [],
};
/** Roles that sign (the investigator, and admins). */
export const maySign: readonly string[] = ['admin', 'investigator'];

/**
 * Adds a form. For an erased participant no items are stored, whatever their names: the identifying names were given at
 * the erasure, and are not stored.
 * @throws 403 a signature without the required role, 401 insufficient proof of identity, 409 PARTICIPANT_ERASED, 422
 * items too large for rules
 */
export async function createForm(
  change: RequestScope,
  participantId: string,
  input: { form_oid: string; status?: Status; items?: Record<string, unknown> },
  signing: SignatureRequest,
): Promise<FormInstance> {
  const { tx, audit, actor, context } = change;
  requireReadable(input.items ?? {}, Object.keys(input.items ?? {}).length);
  const participant = await participantOf(tx, participantId, input);
  await assertNotErased(
    tx,
    participantId,
    Object.entries(input.items ?? {}).flatMap(([name, value]) => (value === null ? [] : name)),
    'items',
  );
  const status = input.status ?? 'draft';
  const marked = await marks(change, participant.study_id, status, signing);
  const form = await insertForm(tx, {
    form_oid: input.form_oid,
    items: input.items ?? {},
    study_id: participant.study_id,
    participant_id: participantId,
    status,
    ...marked,
  });
  await requireRoom(tx, participantId);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: 'form_created',
    resource_type: 'form',
    resource_id: form.id,
    metadata: {
      participant_id: participantId,
      form_oid: input.form_oid,
      status,
      items: Object.keys(input.items ?? {}).sort(),
      ...(marked.signature && { proved_by: marked.signature.proved_by }),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return form;
}

/**
 * Changes a form; `items` are merged. @throws 404, 409 FORM_FROZEN, INVALID_TRANSITION, STALE or PARTICIPANT_ERASED,
 * 401, 403 and 422 as `createForm`
 */
export async function changeForm(
  change: RequestScope,
  participantId: string,
  id: string,
  input: { status?: Status; items?: Record<string, unknown> },
  signing: SignatureRequest,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<FormInstance> {
  const { tx, audit, actor, context } = change;
  const participant = await participantOf(tx, participantId, input);
  const before = await formForUpdate(tx, participantId, id);
  if (!before) throw problem('NOT_FOUND', { detail: 'There is no such form.' });
  assertIfMatch({ ...before });
  const status = input.status ?? before.status;
  if (status !== before.status && !next[before.status].includes(status)) {
    throw problem('INVALID_TRANSITION', { detail: `A ${before.status} form cannot become ${status}.` });
  }
  const items = input.items ? (mergePatch(before.items, input.items) as Record<string, unknown>) : before.items;
  const changedItems = changedFields(before.items, items)
    .concat(Object.keys(before.items).filter((name) => !(name in items)))
    .sort();
  if (changedItems.length > 0 && (before.status === 'signed' || before.status === 'locked'))
    throw problem('FORM_FROZEN');
  // Data stored before limits existed may stay.
  requireReadable(
    Object.fromEntries(changedItems.flatMap((name) => (name in items ? [[name, items[name]]] : []))),
    changedItems.some((name) => !(name in before.items)) ? Object.keys(items).length : 0,
  );
  await assertNotErased(tx, participantId, changedItems, 'items');
  if (status === before.status && changedItems.length === 0) return before;
  const marked: Partial<FormInstance> =
    status === before.status ? {} : await marks(change, participant.study_id, status, signing);
  const form = await updateForm(tx, id, { status, items, ...marked });
  if (changedItems.some((name) => name in items)) await requireRoom(tx, participantId);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: status === before.status ? 'form_changed' : `form_${status}`,
    resource_type: 'form',
    resource_id: id,
    metadata: {
      participant_id: participantId,
      form_oid: before.form_oid,
      status_before: before.status,
      status_after: status,
      items: changedItems,
      ...(marked.signature && { proved_by: marked.signature.proved_by }),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return form;
}

/** @throws 422 naming each item that is larger than rules may read */
function requireReadable(items: Record<string, unknown>, inAll: number): void {
  const errors = boundFaults(items, 'items', inAll);
  if (errors.length > 0) throw invalidFields(errors);
}

/** @throws 422 when all forms together are larger than a decision may read */
async function requireRoom(tx: Tx, participantId: string): Promise<void> {
  if ((await sizeOfForms(tx, participantId)) > MAX_FORMS_BYTES)
    throw invalid('items', 'MAX_TOTAL', `make the participant's forms larger than ${MAX_FORMS_BYTES} bytes in total`);
}

/** The participant; if items are written, an erasure comes before this transaction or after it. */
const participantOf = (tx: Tx, id: string, { items }: { items?: Record<string, unknown> }) =>
  (items ? lockForShare : getParticipantOrThrow)(tx, id);

/** The signature's user, time and proof, or the time of the lock: set by the step that does it. */
async function marks(
  { tx, actor }: RequestScope,
  studyId: string,
  status: Status,
  signing: SignatureRequest,
): Promise<Partial<FormInstance>> {
  if (status !== 'signed' && status !== 'locked') return {};
  if (!maySign.includes(actor.role))
    throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not sign or lock forms.` });
  if (status === 'locked') return { locked_at: nowIso() };
  const signature = await signatureOf(tx, studyId, actor, signing, 'approval');
  return { signed_at: signature.signed_at, signed_by_id: actor.id, signature };
}
