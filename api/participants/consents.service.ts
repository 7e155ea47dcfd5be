import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { Consent } from '../../db/models/records.js';
import { consentForUpdate, insertConsent, updateConsent } from '../../db/participants/consents.queries.js';
import { brokenRule, problem } from '../http/errors.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import { getParticipantOrThrow, pastInstant, realInstant, announceSourcesChanged } from './participants.service.js';
import type { RequestScope } from '../http/state.js';

type Fields = Partial<Pick<Consent, 'consent_version_id' | 'status' | 'signed_at' | 'revoked_at' | 'purpose'>>;

/** The allowed status changes of a consent; declined and revoked are final. */
const next: Record<Consent['status'], readonly Consent['status'][]> = {
  pending: ['signed', 'declined'],
  signed: ['revoked'],
  declined: [],
  revoked: [],
};

/**
 * Creates a consent, which may already be revoked. @throws 400 a time that does not belong to the status, a revocation
 * in the future
 */
export async function createConsent(
  { tx, audit, actor, context }: RequestScope,
  participantId: string,
  input: Fields,
): Promise<Consent> {
  const participant = await getParticipantOrThrow(tx, participantId);
  const status = input.status ?? 'pending';
  const signed_at = status === 'revoked' && !input.signed_at ? null : signature(status, input.signed_at);
  requireSignedFirst(signed_at, input.revoked_at);
  const consent = await insertConsent(tx, {
    ...input,
    status,
    signed_at,
    revoked_at: revocation(status, input.revoked_at),
    study_id: participant.study_id,
    participant_id: participantId,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: status === 'signed' || status === 'revoked' ? `consent_${status}` : 'consent_created',
    resource_type: 'consent',
    resource_id: consent.id,
    metadata: {
      participant_id: participantId,
      status,
      ...(consent.signed_at && { signed_at: consent.signed_at }),
      ...(consent.revoked_at && { revoked_at: consent.revoked_at }),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return consent;
}

/** @throws 404, 409 INVALID_TRANSITION or STALE, 400 as `createConsent` */
export async function changeConsent(
  { tx, audit, actor, context }: RequestScope,
  participantId: string,
  id: string,
  input: Fields,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<Consent> {
  const participant = await getParticipantOrThrow(tx, participantId);
  const before = await consentForUpdate(tx, participantId, id);
  if (!before) throw problem('NOT_FOUND', { detail: 'There is no such consent.' });
  assertIfMatch({ ...before });
  const status = input.status ?? before.status;
  if (status !== before.status && !next[before.status].includes(status)) {
    throw problem('INVALID_TRANSITION', { detail: `A ${before.status} consent cannot become ${status}.` });
  }
  // A revoked consent keeps its signature time: it was signed once.
  const signed_at = status === 'revoked' ? before.signed_at : signature(status, input.signed_at ?? before.signed_at);
  const revoked_at =
    status === before.status && (input.revoked_at ?? null) === null
      ? before.revoked_at
      : revocation(status, input.revoked_at);
  const change = { ...input, status, signed_at, revoked_at };
  const fields = changedFields({ ...before }, change);
  if (fields.length === 0) return before;
  requireSignedFirst(signed_at, input.revoked_at);
  if (before.status === 'declined' || before.status === 'revoked')
    throw problem('INVALID_TRANSITION', { detail: `A ${before.status} consent is final.` });
  const consent = await updateConsent(tx, id, change);
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: status === before.status ? 'consent_changed' : `consent_${status}`,
    resource_type: 'consent',
    resource_id: id,
    metadata: {
      participant_id: participantId,
      fields,
      status_before: before.status,
      status_after: status,
      ...beforeAndAfter({ ...before }, change, fields, ['signed_at', 'revoked_at']),
    },
  });
  await putOutbox(tx, [announceSourcesChanged(participant, actor, context)]);
  return consent;
}

/**
 * The signature time: given, or now; only a signed consent has one. It may be in the future: the policy decides about
 * that.
 */
function signature(status: Consent['status'], input: string | null | undefined): string | null {
  if (status !== 'signed' && status !== 'revoked') {
    if (input)
      throw problem('RULE_VIOLATED', {
        detail: `A ${status} consent has no signed_at.`,
        errors: [{ path: 'signed_at', code: 'NOT_SIGNED', message: `a ${status} consent has no signed_at` }],
      });
    return null;
  }
  return realInstant(input ?? nowIso(), 'signed_at');
}

/** The revocation time: given, or now; only a revoked consent has one. */
function revocation(status: Consent['status'], input: string | null | undefined): string | null {
  if (status === 'revoked') return pastInstant(input ?? nowIso(), 'revoked_at');
  if (input)
    throw problem('RULE_VIOLATED', {
      detail: `A ${status} consent has no revoked_at.`,
      errors: [{ path: 'revoked_at', code: 'NOT_REVOKED', message: `a ${status} consent has no revoked_at` }],
    });
  return null;
}

/**
 * A given time of revocation is not before the signature. One of now is taken: a signature with a mistyped year can be
 * revoked. @throws 400 REVOKED_BEFORE_SIGNED
 */
function requireSignedFirst(signedAt: string | null, revokedAt: string | null | undefined): void {
  if (!signedAt || !revokedAt || Date.parse(revokedAt) >= Date.parse(signedAt)) return;
  throw brokenRule('revoked_at', 'REVOKED_BEFORE_SIGNED', 'lies before signed_at');
}
