import type { Static } from 'typebox';
import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { Eligibility } from '../../db/models/records.js';
import { eligibilityOf, putEligibility as put } from '../../db/participants/eligibility.queries.js';
import { boundFaults } from '../../workflows/domain/participants/fact-bounds.js';
import type { Actor } from '../http/access.js';
import { invalidFields, problem } from '../http/errors.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { PutEligibility } from './facts.schemas.js';
import { getParticipantOrThrow, realInstant, announceSourcesChanged } from './participants.service.js';
import type { RequestScope } from '../http/request-scope.js';
import type { Tx } from '../../db/client/database.js';

/** Who may say that a person is eligible or not, or approve a waiver: a coordinator prepares the assessment. */
export const mayConfirm: readonly string[] = ['admin', 'researcher', 'investigator'];

export async function eligibility(tx: Tx, participantId: string): Promise<Eligibility> {
  const assessment = await eligibilityOf(tx, participantId);
  if (!assessment) throw problem('NOT_FOUND', { detail: 'The participant has no eligibility assessment.' });
  return assessment;
}

/**
 * Puts the assessment in place of what was there. Eligible and ineligible are confirmations: who, and when
 * (`confirmed_at`, else now; the same status again keeps the time it was confirmed).
 * @throws 403 a confirmation or waiver by a role that may not, 400 no instant or without confirmation, 409 STALE (also
 * an If-Match where there is none yet), 422 criteria that hold more than a fact may
 */
export async function saveEligibility(
  { tx, audit, actor, context }: RequestScope,
  participantId: string,
  given: Static<typeof PutEligibility>,
  assertIfMatch: (record: Record<string, unknown> | undefined) => void,
): Promise<Eligibility> {
  const tooMuch = [given.inclusion_criteria ?? {}, given.exclusion_criteria ?? {}].flatMap((criteria, i) =>
    boundFaults(criteria, i === 0 ? 'inclusion_criteria' : 'exclusion_criteria', Object.keys(criteria).length),
  );
  if (tooMuch.length > 0) throw invalidFields(tooMuch);
  const participant = await getParticipantOrThrow(tx, participantId);
  const before = await eligibilityOf(tx, participantId, true);
  assertIfMatch(before && { ...before });
  const status = given.status ?? 'pending';
  const confirmed = status === 'eligible' || status === 'ineligible';
  if (!confirmed && given.confirmed_at) throw notConfirmed(status);
  const same = before?.status === status;
  const confirmed_at = !confirmed
    ? null
    : given.confirmed_at
      ? realInstant(given.confirmed_at, 'confirmed_at')
      : ((same ? before.confirmed_at : null) ?? nowIso());
  const waiver = given.has_waiver ?? false;
  requireWaiverGrounds(waiver, given);
  const newlyConfirmed =
    confirmed && !(same && Date.parse(confirmed_at ?? '') === Date.parse(before.confirmed_at ?? ''));
  const newlyWaived = waiver && !sameWaiver(before, given);
  const waived = waiverOf(waiver ? (newlyWaived ? undefined : before) : null, actor);
  if ((newlyConfirmed || newlyWaived) && !mayConfirm.includes(actor.role)) {
    throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not confirm eligibility.` });
  }
  const assessment: Partial<Eligibility> & { study_id: string; participant_id: string } = {
    study_id: participant.study_id,
    participant_id: participantId,
    status,
    inclusion_criteria: given.inclusion_criteria ?? {},
    exclusion_criteria: given.exclusion_criteria ?? {},
    confirmed_at,
    confirmed_by_id: !confirmed ? null : newlyConfirmed ? actor.id : (before?.confirmed_by_id ?? null),
    has_waiver: waiver,
    waiver_criteria_ids: given.waiver_criteria_ids ?? [],
    waiver_reason: given.waiver_reason ?? null,
    ...waived,
    source_documents: given.source_documents ?? [],
  };
  const fields = changedFields({ ...before }, assessment);
  if (before && fields.length === 0) return before;
  const stored = await put(tx, assessment);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: newlyConfirmed ? 'eligibility_confirmed' : 'eligibility_changed',
    resource_type: 'eligibility',
    resource_id: stored.id,
    metadata: {
      participant_id: participantId,
      fields: fields.filter((f) => f !== 'study_id' && f !== 'participant_id'),
      status_before: before?.status ?? null,
      status_after: status,
      confirmed_at,
      ...(waived.waiver_approved_by_id !== null && { waiver_approved_by_id: waived.waiver_approved_by_id }),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return stored;
}

type Waiver = Pick<Eligibility, 'waiver_requested_by_id' | 'waiver_approved_by_id' | 'waiver_approved_at'>;

/** Whether the assessment had the same waiver already: of the same criteria, for the same reason. */
const sameWaiver = (before: Eligibility | undefined, given: Static<typeof PutEligibility>): boolean =>
  before?.has_waiver === true &&
  before.waiver_reason === given.waiver_reason &&
  [...before.waiver_criteria_ids].sort().join('\0') === [...(given.waiver_criteria_ids ?? [])].sort().join('\0');

/**
 * Who wrote the waiver and who approved it. Putting the same waiver approves it, by another person who may confirm.
 * @param before the same waiver; undefined: it is a new one; null: there is none
 */
function waiverOf(before: Eligibility | null | undefined, actor: Actor): Waiver {
  const none = { waiver_approved_by_id: null, waiver_approved_at: null };
  if (before === null) return { waiver_requested_by_id: null, ...none };
  if (before === undefined) return { waiver_requested_by_id: actor.id, ...none };
  const { waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at } = before;
  // One that a full import brought is the importer's: whom its document names has written nothing here.
  const writer = waiver_requested_by_id ?? before.imported_by;
  const approves = waiver_approved_by_id === null && writer !== actor.id && mayConfirm.includes(actor.role);
  return approves
    ? { waiver_requested_by_id, waiver_approved_by_id: actor.id, waiver_approved_at: nowIso() }
    : { waiver_requested_by_id, waiver_approved_by_id, waiver_approved_at };
}

/** A waiver says which criteria it waives, and why. @throws 400 */
function requireWaiverGrounds(waiver: boolean, given: Static<typeof PutEligibility>): void {
  if (!waiver) return;
  const errors = [
    ...((given.waiver_criteria_ids ?? []).length === 0 ? ['waiver_criteria_ids'] : []),
    ...(given.waiver_reason?.trim() ? [] : ['waiver_reason']),
  ].map((path) => ({ path, code: 'REQUIRED', message: `${path} is required for a waiver` }));
  if (errors.length > 0) throw problem('RULE_VIOLATED', { detail: errors[0]!.message, errors });
}

function notConfirmed(status: string) {
  const message = `a ${status} assessment has no confirmed_at`;
  return problem('RULE_VIOLATED', {
    detail: `${message}.`,
    errors: [{ path: 'confirmed_at', code: 'NOT_CONFIRMED', message }],
  });
}
