import {
  caregiverInStudy,
  hasParticipantsElsewhere,
  deleteCaregiver,
  endCare,
  insertCaregiver,
  lockCared,
  upsertCare,
  revokeCaregiverAccess,
  updateCaregiver,
} from '../../db/portal/caregivers.queries.js';
import type { CaregiverFields, CaregiverRecord } from '../../db/portal/caregivers.queries.js';
import { participantForUpdate } from '../../db/participants/participants.queries.js';
import { problem } from '../http/errors.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

type Unchanged = (record: Record<string, unknown>) => void;
export interface CareOf {
  study_id: string;
  caregiver_id: string;
  participant_id: string;
}

export async function addCaregiver(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  input: Partial<CaregiverFields>,
): Promise<CaregiverRecord> {
  const id = await insertCaregiver(tx, studyId, input);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'caregiver_created',
    resource_type: 'caregiver',
    resource_id: id,
    metadata: { fields: Object.keys(input).sort() },
  });
  return getCaregiverOrThrow(tx, studyId, id);
}

/**
 * Changes a caregiver. Deactivation revokes access immediately.
 * @throws 404, 409 STALE, 403 SITE_NOT_ASSIGNED if it also has a participant at another site
 */
export async function changeCaregiver(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  id: string,
  input: Partial<CaregiverFields>,
  assertIfMatch: Unchanged,
): Promise<CaregiverRecord> {
  const before = await wholly(tx, studyId, id, assertIfMatch);
  const changed = changedFields({ ...before }, { ...input });
  if (changed.length === 0) return before;
  await updateCaregiver(tx, studyId, id, input);
  if (input.status === 'inactive') await revokeCaregiverAccess(tx, studyId, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'caregiver_changed',
    resource_type: 'caregiver',
    resource_id: id,
    metadata: { fields: changed, ...(input.status && { status: input.status }) },
  });
  return getCaregiverOrThrow(tx, studyId, id);
}

/** @throws 404, 409 STALE, 403 SITE_NOT_ASSIGNED as above */
export async function removeCaregiver(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  id: string,
  assertIfMatch: Unchanged,
): Promise<void> {
  const before = await wholly(tx, studyId, id, assertIfMatch);
  await deleteCaregiver(tx, studyId, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'caregiver_deleted',
    resource_type: 'caregiver',
    resource_id: id,
    metadata: { participant_ids: before.participants.map(({ participant_id }) => participant_id) },
  });
}

/**
 * Assigns a caregiver to a participant, with the relationship. It is idempotent. @throws 404, 409
 * PARTICIPANT_WITHDRAWN, STALE
 */
export async function assignCare(
  { tx, audit, actor, context }: RequestScope,
  { study_id, caregiver_id, participant_id }: CareOf,
  relationship: string,
  assertIfMatch: Unchanged,
): Promise<CaregiverRecord> {
  const before = await lockedCaregiver(tx, study_id, caregiver_id, participant_id);
  assertIfMatch({ ...before });
  const participant = await participantForUpdate(tx, participant_id);
  if (participant?.study_id !== study_id.toLowerCase())
    throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  if (participant.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  if (
    await upsertCare(tx, {
      caregiverId: before.id,
      participantId: participant.id,
      studyId: before.study_id,
      relationship,
      by: actor.id,
    })
  ) {
    const isNew = !before.participants.some((care) => care.participant_id === participant.id);
    audit.record({
      ...auditActor(actor, context),
      study_id: before.study_id,
      action: isNew ? 'caregiver_assigned' : 'caregiver_relationship_changed',
      resource_type: 'participant',
      resource_id: participant.id,
      metadata: { caregiver_id: before.id },
    });
  }
  return getCaregiverOrThrow(tx, study_id, caregiver_id);
}

/** Ends an assignment: access to the participant ends at once. @throws 404, 409 STALE */
export async function unassignCare(
  { tx, audit, actor, context }: RequestScope,
  { study_id, caregiver_id, participant_id }: CareOf,
  assertIfMatch: Unchanged,
): Promise<void> {
  const before = await lockedCaregiver(tx, study_id, caregiver_id, participant_id);
  assertIfMatch({ ...before });
  if (!(await endCare(tx, before.id, participant_id)))
    throw problem('NOT_FOUND', { detail: 'The caregiver does not care for this participant.' });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'caregiver_unassigned',
    resource_type: 'participant',
    resource_id: participant_id.toLowerCase(),
    metadata: { caregiver_id: before.id },
  });
}

export async function getCaregiverOrThrow(tx: Tx, studyId: string, id: string): Promise<CaregiverRecord> {
  return found(await caregiverInStudy(tx, studyId, id));
}

async function lockedCaregiver(tx: Tx, studyId: string, id: string, participantId?: string): Promise<CaregiverRecord> {
  await lockCared(tx, id, participantId);
  return found(await caregiverInStudy(tx, studyId, id, true));
}

/**
 * Users restricted to a site share a caregiver with other sites, but can't change it: with an address of their own they
 * could get a link to another site's participants.
 */
async function wholly(tx: Tx, studyId: string, id: string, assertIfMatch: Unchanged): Promise<CaregiverRecord> {
  const before = await lockedCaregiver(tx, studyId, id);
  if (await hasParticipantsElsewhere(tx, before.id))
    throw problem('SITE_NOT_ASSIGNED', { detail: 'The caregiver cares for participants of other sites, too.' });
  assertIfMatch({ ...before });
  return before;
}

function found(caregiver: CaregiverRecord | undefined): CaregiverRecord {
  if (!caregiver) throw problem('NOT_FOUND', { detail: 'There is no such caregiver.' });
  return caregiver;
}
