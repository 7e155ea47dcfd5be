import { nowMs, nowIso } from '../../db/client/clock.js';
import { returnEarly } from '../../db/scheduling/early-visits.js';
import { lockZones } from '../../db/scheduling/visit-statuses.queries.js';
import { followBaseline, followWindows } from '../../db/scheduling/schedule-writes.queries.js';
import { intoEvents } from '../../db/events/events.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import type { OutboxMessage } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { insertMany } from '../../db/client/sets/bulk-insert.js';
import { readForAnother } from '../../db/capture/datacapture-records.queries.js';
import { requestPushesToOtherRecords } from '../../db/capture/push-requests.queries.js';
import { otherSpellingTaken } from '../../db/capture/record-spellings.queries.js';
import { IDENTITY, erasedAt } from '../../db/participants/erasure.queries.js';
import type { Participant } from '../../db/models/records.js';
import {
  deleteParticipant,
  insertParticipant,
  participantById,
  participantForShare,
  participantForUpdate,
  participantHasData,
  updateParticipant,
} from '../../db/participants/participants.queries.js';
import type { ParticipantRecord } from '../../db/participants/participants.queries.js';
import { studyHasEnded } from '../../db/studies/study-ended.js';
import { siteByCode, siteById, siteInReach } from '../../db/studies/sites.queries.js';
import type { Actor } from '../http/access.js';
import { brokenRule, problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import { assertNotErased } from './erasure-guard.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';
import { FIRST_LIVED_DAY, latestDay } from '../../workflows/domain/util/dates.js';

export interface Fields {
  participant_code?: string;
  external_id?: string | null;
  site_id?: string | null;
  site_code?: string | null;
  preferred_language?: string | null;
  email?: string | null;
  phone?: string | null;
  timezone?: string | null;
  date_of_birth?: string | null;
  arm?: string | null;
}
const unique = {
  participants_study_id_participant_code_key: 'PARTICIPANT_CODE_TAKEN',
  participants_external: 'DUPLICATE_EXTERNAL_ID',
} as const;
/** The participant's fields that an anchor decision may read, and those by which Temporal's operators know it. */
export const ANCHOR_RELEVANT_FIELDS = ['site_id', 'preferred_language', 'date_of_birth', 'arm', 'participant_code'];
/** Fields that can't change after an erasure. */
const ERASED_FOR_GOOD: readonly string[] = [...IDENTITY, 'participant_code'];

/** @throws 400 IN_FUTURE, OUT_OF_RANGE */
function requireBorn({ date_of_birth: born }: Fields): void {
  if (born == null) return;
  if (born > latestDay(nowMs())) throw brokenRule('date_of_birth', 'IN_FUTURE', 'lies in the future');
  if (born < FIRST_LIVED_DAY) throw brokenRule('date_of_birth', 'OUT_OF_RANGE', `lies before ${FIRST_LIVED_DAY}`);
}

/** The message that a participant's fact changed: its anchor is evaluated again. */
export const announceSourcesChanged = (
  participant: { id: string; study_id: string },
  actor: Actor,
  context: RequestContext,
): OutboxMessage => ({
  topic: 'sources-changed',
  studyId: participant.study_id,
  subject: participant.id,
  payload: { actor_user_id: actor.id, request_id: context.requestId },
});

/**
 * Enrolls a participant: the record, its anchor (`unset`, version 1) and the start of its workflow commit together.
 * @throws 409 STUDY_CLOSED, SITE_CLOSED, PARTICIPANT_CODE_TAKEN, DUPLICATE_EXTERNAL_ID; 400 unknown site, IN_FUTURE;
 * 403 SITE_NOT_ASSIGNED
 */
export async function enrollParticipant(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  input: Fields & { participant_code: string },
): Promise<ParticipantRecord> {
  if (await studyHasEnded(tx, studyId)) throw problem('STUDY_CLOSED');
  requireBorn(input);
  const { fields, siteId, closed } = await resolveSite(tx, studyId, input);
  await requireReach(tx, studyId, siteId ?? null);
  if (closed) throw problem('SITE_CLOSED');
  if (fields.external_id) await readForAnother(tx, studyId, fields.external_id);
  await requireOwnRecord(tx, studyId, fields.external_id);
  const id = await mapConstraintErrors(unique, () =>
    insertParticipant(tx, {
      ...fields,
      study_id: studyId,
      participant_code: input.participant_code,
      ...(siteId !== undefined && { site_id: siteId }),
    }),
  );
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'participant_created',
    resource_type: 'participant',
    resource_id: id,
    metadata: { fields: Object.keys(input).sort() },
  });
  await putOutbox(tx, [{ topic: 'participant-start', studyId, subject: id, payload: { site_id: siteId ?? null } }]);
  return getParticipantOrThrow(tx, id);
}

/** @throws 404, 409 as `enroll`, STALE or PARTICIPANT_ERASED, 400 unknown site, IN_FUTURE, 403 SITE_NOT_ASSIGNED */
export async function changeParticipant(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: Fields,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<ParticipantRecord> {
  if (input.site_id !== undefined || input.site_code !== undefined) {
    const { study_id, site_id, site_code } = await getParticipantOrThrow(tx, id);
    const isOther = (given: string | null | undefined, own: string | null) => given !== undefined && given !== own;
    // Another site may have another time zone.
    if (isOther(input.site_id, site_id) || isOther(input.site_code, site_code)) await lockZones(tx, study_id);
  }
  const record = withoutBlanks(input).external_id;
  if (record) await readForAnother(tx, (await getParticipantOrThrow(tx, id)).study_id, record, id);
  const before = await locked(tx, id);
  assertIfMatch({ ...before });
  const { fields, siteId, closed } = await resolveSite(tx, before.study_id, input);
  const change: Partial<Participant> = { ...fields, ...(siteId !== undefined && { site_id: siteId }) };
  // A record of the capture system keeps its decomposed letters.
  if (fields.external_id && fields.external_id === before.external_id?.normalize('NFC'))
    change.external_id = before.external_id;
  const changed = changedFields({ ...before }, { ...change });
  if (changed.length === 0) return before;
  if (changed.includes('date_of_birth')) requireBorn(input);
  await assertNotErased(
    tx,
    id,
    changed.filter((field) => ERASED_FOR_GOOD.includes(field)),
  );
  if (changed.includes('site_id')) await requireReach(tx, before.study_id, siteId ?? null);
  if (closed && changed.includes('site_id')) throw problem('SITE_CLOSED');
  if (changed.includes('external_id')) await requireOwnRecord(tx, before.study_id, fields.external_id, id);
  await mapConstraintErrors(unique, () => updateParticipant(tx, id, change));
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'participant_changed',
    resource_type: 'participant',
    resource_id: id,
    metadata: { fields: changed, ...beforeAndAfter({ ...before }, { ...change }, changed, ['site_id']) },
  });
  if (changed.includes('site_id'))
    await returnEarly({ tx, audit }, auditActor(actor, context), { studyId: before.study_id, participantId: id });
  if (changed.includes('external_id') && fields.external_id) await requestPushesToOtherRecords(tx, [id]);
  if (changed.some((field) => ANCHOR_RELEVANT_FIELDS.includes(field)))
    await putOutbox(tx, [announceSourcesChanged(before, actor, context)]);
  return getParticipantOrThrow(tx, id);
}

/** Deletes a participant without recorded data. @throws 404, 409 PARTICIPANT_HAS_DATA, STALE */
export async function removeParticipant(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  // In the lock order of a decision: a new participant's first one may be running.
  await lockAnchors(tx, [id]);
  const before = await locked(tx, id);
  assertIfMatch({ ...before });
  if (await participantHasData(tx, id)) throw problem('PARTICIPANT_HAS_DATA');
  await deleteParticipant(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'participant_deleted',
    resource_type: 'participant',
    resource_id: id,
  });
  // Its workflow finds no participant and ends.
  await putOutbox(tx, [
    {
      topic: 'participant-withdrawn',
      studyId: before.study_id,
      subject: id,
      payload: { actor_user_id: actor.id, request_id: context.requestId },
    },
  ]);
}

/**
 * Withdraws a participant: the anchor is kept, the schedule is frozen. @throws 404, 409 PARTICIPANT_WITHDRAWN, 400 a
 * future time
 */
export async function withdraw(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: { reason: string; withdrawn_at?: string },
): Promise<ParticipantRecord> {
  // A running decision has read that the participant takes part: it comes before the withdrawal as a whole.
  await lockAnchors(tx, [id]);
  const before = await locked(tx, id);
  if (before.status === 'withdrawn')
    throw problem('PARTICIPANT_WITHDRAWN', { detail: 'The participant has withdrawn already.' });
  const at = pastInstant(input.withdrawn_at ?? nowIso(), 'withdrawn_at');
  await updateParticipant(tx, id, { status: 'withdrawn', withdrawn_at: at, withdrawal_reason: input.reason });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'participant_withdrawn',
    resource_type: 'participant',
    resource_id: id,
    metadata: { withdrawn_at: at },
  });
  await insertMany(tx, [
    intoEvents(tx, [
      {
        type: 'PARTICIPANT_WITHDRAWN',
        study_id: before.study_id,
        participant_id: id,
        data: { status: 'withdrawn', withdrawn_at: at, reason: input.reason, actor: actorOf(actor) },
      },
    ]),
  ]);
  await putOutbox(tx, [
    {
      topic: 'participant-withdrawn',
      studyId: before.study_id,
      subject: id,
      payload: { actor_user_id: actor.id, request_id: context.requestId },
    },
  ]);
  return getParticipantOrThrow(tx, id);
}

/**
 * Reverses a withdrawal. The participant's workflow continues the schedule as a new version; the database plans
 * reminders of future visits again.
 * @throws 404, 409 NOT_WITHDRAWN or PARTICIPANT_ERASED
 */
export async function reinstateWithdrawn(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: { reason: string },
): Promise<ParticipantRecord> {
  await lockAnchors(tx, [id]);
  const before = await locked(tx, id);
  if (before.status !== 'withdrawn') throw problem('NOT_WITHDRAWN');
  if (await erasedAt(tx, id))
    throw problem('PARTICIPANT_ERASED', { detail: 'The participant’s identity was erased: the record stays closed.' });
  await updateParticipant(tx, id, {
    status: 'enrolled',
    withdrawn_at: null,
    withdrawal_reason: null,
    reinstated_at: nowIso(),
  });
  // The study may have other windows, or another baseline, by now: a completed visit is in no new version.
  await followWindows(tx, before.study_id, [id]);
  await followBaseline(tx, [id]);
  const { withdrawn_at, withdrawal_reason } = before;
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'participant_reinstated',
    resource_type: 'participant',
    resource_id: id,
    metadata: { reason: input.reason, withdrawn_at },
  });
  await insertMany(tx, [
    intoEvents(tx, [
      {
        type: 'PARTICIPANT_REINSTATED',
        study_id: before.study_id,
        participant_id: id,
        data: { status: 'enrolled', withdrawn_at, withdrawal_reason, reason: input.reason, actor: actorOf(actor) },
      },
    ]),
  ]);
  await putOutbox(tx, [
    {
      topic: 'participant-reinstated',
      studyId: before.study_id,
      subject: id,
      payload: { actor_user_id: actor.id, request_id: context.requestId },
    },
  ]);
  return getParticipantOrThrow(tx, id);
}

const actorOf = ({ id }: Actor) => ({ user_id: id, type: 'user' });

/**
 * The time of a past act, in UTC as the database writes it.
 * @throws 400 IN_FUTURE (with a minute of tolerance for differing clocks), NO_INSTANT
 */
export function pastInstant(instant: string, path: string): string {
  const at = realInstant(instant, path);
  if (Date.parse(at) <= nowMs() + 60_000) return at;
  const message = `${path} lies in the future`;
  throw problem('RULE_VIOLATED', { detail: `${message}.`, errors: [{ path, code: 'IN_FUTURE', message }] });
}

/**
 * An instant in UTC as the database writes it. A participant's facts may have future times: the policy's rules decide
 * whether such a date counts (FUTURE_DATE). Before the birth of all participants the year is mistyped.
 * @throws 400 NO_INSTANT for a well-formed but impossible instant, such as a leap second, OUT_OF_RANGE
 */
export function realInstant(instant: string, path: string): string {
  const at = new Date(instant);
  if (!Number.isNaN(at.getTime())) {
    if (at.toISOString() < FIRST_LIVED_DAY) throw brokenRule(path, 'OUT_OF_RANGE', `lies before ${FIRST_LIVED_DAY}`);
    return at.toISOString();
  }
  const message = `${path} is no instant of the calendar`;
  throw problem('RULE_VIOLATED', { detail: `${message}.`, errors: [{ path, code: 'NO_INSTANT', message }] });
}

export async function getParticipantOrThrow(tx: Tx, id: string): Promise<ParticipantRecord> {
  const participant = await participantById(tx, id);
  if (!participant) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return participant;
}

/**
 * The participant with a shared lock: a withdrawal comes before this transaction or after it. A caller that needs the
 * anchor locks that first.
 */
export async function lockForShare(tx: Tx, id: string): Promise<ParticipantRecord> {
  const participant = await participantForShare(tx, id);
  if (!participant) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return participant;
}

/** @throws 409 PARTICIPANT_WITHDRAWN: no visit is scheduled or moved any more */
export function assertNotWithdrawn(participant: ParticipantRecord): void {
  if (participant.status === 'withdrawn')
    throw problem('PARTICIPANT_WITHDRAWN', { detail: 'The participant has withdrawn: the schedule is frozen.' });
}

async function locked(tx: Tx, id: string): Promise<ParticipantRecord> {
  const participant = await participantForUpdate(tx, id);
  if (!participant) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return participant;
}

/** Blanks around a record's id come from copying: a capture system's ids have none. Blanks alone count as no id. */
const withoutBlanks = <T extends { external_id?: string | null }>(fields: T): T =>
  typeof fields.external_id === 'string' ? { ...fields, external_id: fields.external_id.trim() || null } : fields;

/** Two participants must not have one record of the capture system. @throws 409 DUPLICATE_EXTERNAL_ID */
async function requireOwnRecord(tx: Tx, studyId: string, externalId?: string | null, own?: string): Promise<void> {
  if (externalId != null && (await otherSpellingTaken(tx, studyId, externalId, own)))
    throw problem('DUPLICATE_EXTERNAL_ID', {
      detail: 'Another participant of the study has this external_id in other case: to a capture system they are one.',
    });
}

/**
 * Takes the site by id or by code; both must mean the same. `siteId` undefined: the site is not part of the change.
 * `closed`: nobody new comes to it.
 */
async function resolveSite(tx: Tx, studyId: string, input: Fields) {
  const { site_id, site_code, ...others } = input;
  const fields = withoutBlanks(others);
  if (site_id === undefined && site_code === undefined) return { fields, siteId: undefined, closed: false };
  const byId = site_id ? await siteById(tx, site_id) : undefined;
  if (site_id && byId?.study_id !== studyId) throw brokenRule('site_id', 'UNKNOWN_SITE', 'is not a site of the study');
  const byCode = site_code ? await siteByCode(tx, studyId, site_code) : undefined;
  if (site_code && !byCode) throw brokenRule('site_code', 'UNKNOWN_SITE', 'is not a site of the study');
  if (site_id && site_code && byId?.id !== byCode?.id)
    throw brokenRule('site_code', 'SITE_CONFLICT', 'names another site than site_id');
  const site = byId ?? byCode;
  return { fields, siteId: site?.id ?? null, closed: site?.status === 'inactive' };
}

/**
 * A user restricted to sites of the study enrolls and moves participants only within them. @throws 403
 * SITE_NOT_ASSIGNED
 */
async function requireReach(tx: Tx, studyId: string, siteId: string | null): Promise<void> {
  if (!(await siteInReach(tx, studyId, siteId))) throw problem('SITE_NOT_ASSIGNED');
}
