import type { Static } from 'typebox';
import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { Eligibility } from '../../db/models/records.js';
import {
  eligibilityForUpdate,
  eligibilityOf,
  putEligibility as put,
} from '../../db/participants/eligibility.queries.js';
import { boundFaults } from '../../workflows/domain/participants/fact-bounds.js';
import { isVisible } from '../../workflows/domain/util/visible.js';
import type { Actor, Role } from '../http/access.js';
import { invalidFields, problem } from '../http/errors.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { PutEligibility } from './facts.schemas.js';
import { assertNotErased } from './erasure-guard.js';
import { signatureOf } from './signatures.service.js';
import type { SignatureRequest } from './signatures.service.js';
import { lockForShare, realInstant, announceSourcesChanged } from './participants.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

/** Roles that may confirm eligibility or ineligibility, or approve a waiver: a coordinator prepares the assessment. */
export const mayConfirm: readonly Role[] = ['admin', 'researcher', 'investigator'];

export async function eligibility(tx: Tx, participantId: string): Promise<Eligibility> {
  const assessment = await eligibilityOf(tx, participantId);
  if (!assessment) throw problem('NOT_FOUND', { detail: 'The participant has no eligibility assessment.' });
  return assessment;
}

/**
 * Replaces the assessment. Eligible and ineligible are confirmations with a user and a time (`confirmed_at`, else now;
 * the same status again keeps its time, and its user as long as criteria and waiver are the same). With `approving`,
 * the same waiver once more approves it, by another user.
 * @throws 403 a confirmation or waiver without the required role, 400 no instant, without confirmation, or eligible
 * against a criterion that is not waived, 401 as `signatureOf` for an approval, 409 STALE (also for an If-Match without
 * an assessment), 409 PARTICIPANT_ERASED, 422 criteria larger than a fact may be
 */
export async function saveEligibility(
  { tx, audit, actor, context }: RequestScope,
  participantId: string,
  input: Static<typeof PutEligibility>,
  assertIfMatch: (record: Record<string, unknown> | undefined) => void,
  approving?: { signing: SignatureRequest },
): Promise<Eligibility> {
  const tooMuch = [input.inclusion_criteria ?? {}, input.exclusion_criteria ?? {}].flatMap((criteria, i) =>
    boundFaults(criteria, i === 0 ? 'inclusion_criteria' : 'exclusion_criteria', Object.keys(criteria).length),
  );
  if (tooMuch.length > 0) throw invalidFields(tooMuch);
  // An erasure comes before this transaction or after it.
  const participant = await lockForShare(tx, participantId);
  const before = await eligibilityForUpdate(tx, participantId);
  assertIfMatch(before && { ...before });
  const status = input.status ?? 'pending';
  const confirmed = status === 'eligible' || status === 'ineligible';
  if (!confirmed && input.confirmed_at) throw notConfirmed(status);
  const same = before?.status === status;
  const confirmed_at = !confirmed
    ? null
    : input.confirmed_at
      ? realInstant(input.confirmed_at, 'confirmed_at')
      : ((same ? before.confirmed_at : null) ?? nowIso());
  const waiver = input.has_waiver ?? false;
  requireWaiverGrounds(waiver, input);
  if (status === 'eligible') requireCriteriaMet(input);
  await assertNotErased(tx, participantId, newTexts(input, before));
  const newlyConfirmed =
    confirmed && !(same && Date.parse(confirmed_at ?? '') === Date.parse(before.confirmed_at ?? ''));
  const newlyWaived = waiver && !sameWaiver(before, input);
  // The confirmation is of these criteria: the user who changes them confirms the new ones.
  const reconfirmed = confirmed && same && !newlyConfirmed && (newlyWaived || otherGrounds(before, input));
  const waived = waiverOf(waiver ? (newlyWaived ? undefined : before) : null, actor, approving !== undefined);
  if ((newlyConfirmed || newlyWaived || reconfirmed) && !mayConfirm.includes(actor.role)) {
    throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not confirm eligibility.` });
  }
  const approves = waived.waiver_approved_by_id !== null && (before?.waiver_approved_by_id ?? null) === null;
  const signature =
    approves && approving && (await signatureOf(tx, participant.study_id, actor, approving.signing, 'approval'));
  const assessment: Partial<Eligibility> & { study_id: string; participant_id: string } = {
    study_id: participant.study_id,
    participant_id: participantId,
    status,
    inclusion_criteria: input.inclusion_criteria ?? {},
    exclusion_criteria: input.exclusion_criteria ?? {},
    confirmed_at,
    confirmed_by_id: !confirmed ? null : newlyConfirmed || reconfirmed ? actor.id : (before?.confirmed_by_id ?? null),
    has_waiver: waiver,
    waiver_criteria_ids: input.waiver_criteria_ids ?? [],
    waiver_reason: input.waiver_reason ?? null,
    ...waived,
    source_documents: input.source_documents ?? [],
  };
  const fields = changedFields({ ...before }, assessment);
  if (before && fields.length === 0) return before;
  const stored = await put(tx, assessment);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: newlyConfirmed || reconfirmed ? 'eligibility_confirmed' : 'eligibility_changed',
    resource_type: 'eligibility',
    resource_id: stored.id,
    metadata: {
      participant_id: participantId,
      fields: fields.filter((f) => f !== 'study_id' && f !== 'participant_id'),
      status_before: before?.status ?? null,
      status_after: status,
      confirmed_at,
      ...(waived.waiver_approved_by_id !== null && { waiver_approved_by_id: waived.waiver_approved_by_id }),
      ...(signature && { waiver_proved_by: signature.proved_by }),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return stored;
}

type Waiver = Pick<Eligibility, 'waiver_requested_by_id' | 'waiver_approved_by_id' | 'waiver_approved_at'>;

/** Whether the assessment already had the same waiver: same criteria, same reason. */
const sameWaiver = (before: Eligibility | undefined, input: Static<typeof PutEligibility>): boolean =>
  before?.has_waiver === true &&
  before.waiver_reason === input.waiver_reason &&
  [...before.waiver_criteria_ids].sort().join('\0') === [...(input.waiver_criteria_ids ?? [])].sort().join('\0');

/** Whether the criteria differ, or a waiver is taken away, on which a confirmation rests. */
const otherGrounds = (before: Eligibility, input: Static<typeof PutEligibility>): boolean =>
  (before.has_waiver && !input.has_waiver) ||
  changedFields(
    { inclusion: before.inclusion_criteria, exclusion: before.exclusion_criteria },
    { inclusion: input.inclusion_criteria ?? {}, exclusion: input.exclusion_criteria ?? {} },
  ).length > 0;

/** Whether the waiver waits for an approval that this user may give: another user's, with the right to confirm. */
export function mayApproveWaiver(assessment: Eligibility, { id, role }: Pick<Actor, 'id' | 'role'>): boolean {
  const { has_waiver, waiver_requested_by_id, waiver_approved_by_id, imported_by } = assessment;
  // An imported waiver belongs to the importer: the person in its document wrote nothing here.
  const writer = waiver_requested_by_id ?? imported_by;
  return has_waiver && waiver_approved_by_id === null && writer !== id && mayConfirm.includes(role);
}

/**
 * The author and approver of the waiver. Sending the same waiver approves it, by another user who may confirm.
 * @param before the same waiver; undefined: it is new; null: there is none
 * @param isApproval false: the request leaves the waiver as it is
 */
function waiverOf(before: Eligibility | null | undefined, actor: Actor, isApproval: boolean): Waiver {
  const none = { waiver_approved_by_id: null, waiver_approved_at: null };
  if (before === null) return { waiver_requested_by_id: null, ...none };
  if (before === undefined) return { waiver_requested_by_id: actor.id, ...none };
  const { waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at } = before;
  return isApproval && mayApproveWaiver(before, actor)
    ? { waiver_requested_by_id, waiver_approved_by_id: actor.id, waiver_approved_at: nowIso() }
    : { waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at };
}

/** A waiver must have criteria and a reason. @throws 400 */
function requireWaiverGrounds(waiver: boolean, input: Static<typeof PutEligibility>): void {
  if (!waiver) return;
  const criteria = input.waiver_criteria_ids ?? [];
  const errors = [
    ...(criteria.length > 0 && criteria.every((id) => id.trim() !== '') ? [] : ['waiver_criteria_ids']),
    ...(isVisible(input.waiver_reason ?? '') ? [] : ['waiver_reason']),
  ].map((path) => ({ path, code: 'REQUIRED', message: `${path} is required for a waiver` }));
  if (errors.length > 0) throw problem('RULE_VIOLATED', { detail: errors[0]!.message, errors });
}

/** Eligible is who meets every criterion, or has a waiver that names the others. @throws 400 naming each of them */
function requireCriteriaMet(input: Static<typeof PutEligibility>): void {
  const waived = input.has_waiver ? (input.waiver_criteria_ids ?? []) : [];
  const against = (name: 'inclusion_criteria' | 'exclusion_criteria', answer: string, value: boolean) =>
    Object.entries(input[name] ?? {})
      .filter(([id, criterion]) => (criterion as Record<string, unknown>)[answer] === value && !waived.includes(id))
      .map(([id]) => ({
        path: `${name}.${id}`,
        code: 'CRITERION_NOT_MET',
        message: `${id} speaks against it, and no waiver names it`,
      }));
  const errors = [...against('inclusion_criteria', 'met', false), ...against('exclusion_criteria', 'present', true)];
  if (errors.length > 0)
    throw problem('RULE_VIOLATED', {
      detail: `Eligible meets every criterion or waives it: ${errors.map(({ path }) => path).join(', ')}.`,
      errors,
    });
}

/** The paths of new notes and reasons, which an erasure takes away. */
function newTexts(input: Static<typeof PutEligibility>, before: Eligibility | undefined): string[] {
  const ofCriteria = (['inclusion_criteria', 'exclusion_criteria'] as const).flatMap((name) =>
    Object.entries(input[name] ?? {}).flatMap(([id, { notes }]) => {
      const stored = before?.[name][id] as { notes?: string | null } | undefined;
      return notes && notes !== stored?.notes ? [`${name}.${id}.notes`] : [];
    }),
  );
  const reason = input.waiver_reason;
  const seen = new Set((before?.source_documents as { ref?: string | null }[] | undefined)?.map(({ ref }) => ref));
  const ofDocuments = (input.source_documents ?? []).flatMap(({ ref }, i) =>
    ref && !seen.has(ref) ? [`source_documents.${i}.ref`] : [],
  );
  return [...ofCriteria, ...ofDocuments, ...(reason && reason !== before?.waiver_reason ? ['waiver_reason'] : [])];
}

function notConfirmed(status: string) {
  const message = `a ${status} assessment has no confirmed_at`;
  return problem('RULE_VIOLATED', {
    detail: `${message}.`,
    errors: [{ path: 'confirmed_at', code: 'NOT_CONFIRMED', message }],
  });
}
