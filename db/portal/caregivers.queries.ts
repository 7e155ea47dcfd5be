import { raw } from 'objection';
import { orderBy, page } from '../client/paging.js';
import { execute } from '../client/query.js';
import type { Listed, Page } from '../client/paging.js';
import { Caregiver, CaregiverParticipant } from '../models/portal.js';
import type { Tx } from '../client/database.js';

export interface CaregiverFields {
  name: string | null;
  email: string | null;
  phone: string | null;
  preferred_language: string | null;
  status: 'active' | 'inactive';
}
/** A caregiver's participants, as far as the transaction sees them. */
export interface Care {
  participant_id: string;
  relationship: string;
}
export interface CaregiverRecord extends CaregiverFields {
  id: string;
  study_id: string;
  participants: Care[];
  created_at: string;
  updated_at: string;
}
/** A caregiver of one participant. */
export interface CaregiverOf extends Omit<CaregiverRecord, 'participants'> {
  relationship: string;
  since: string;
}

const OWN = 'c.id, c.study_id, c.name, c.email, c.phone, c.preferred_language, c.status';
// Joined through the participants, so that isolation by site holds.
const COLUMNS = `${OWN},
  (select coalesce(jsonb_agg(jsonb_build_object('participant_id', k.participant_id, 'relationship', k.relationship)
    order by k.created_at, k.participant_id), '[]')
  from caregiver_participants k join participants p on p.id = k.participant_id
    where k.caregiver_id = c.id) as participants, c.created_at, c.updated_at`;
const SORTS = { created_at: 'c.created_at', name: 'c.name', status: 'c.status', updated_at: 'c.updated_at' };
export const caregiverSorts = ['created_at', 'name', 'status', 'updated_at'] as const;

/** Locks a caregiver's participants, and a named one: an erasure locks the participant before its caregivers. */
export async function lockCared(tx: Tx, caregiverId: string, participantId?: string): Promise<void> {
  await execute(
    tx,
    `select 1 from participants p where p.id in (select k.participant_id from caregiver_participants k
      where k.caregiver_id = $1) or p.id = $2
     order by p.id for update`,
    [caregiverId, participantId ?? null],
  );
}

/** Caregivers of a study; `search` matches anywhere in name or email, literally. */
export function listCaregivers(
  tx: Tx,
  studyId: string,
  filter: Page & { status?: string | undefined; search?: string | undefined },
): Promise<Listed<CaregiverRecord>> {
  const found = tx('caregivers as c')
    .where('c.study_id', studyId)
    .modify((q) => {
      if (filter.status) q.where('c.status', filter.status);
      if (filter.search)
        q.whereRaw('position(folded(?) in folded(concat_ws(chr(10), c.name, c.email))) > 0', [filter.search]);
    });
  return page(tx, found, COLUMNS, filter, SORTS, 'c.id');
}

/** The caregivers of a participant, whom the transaction must see. */
export async function caregiversOf(
  tx: Tx,
  participantId: string,
  range: Pick<Page, 'skip' | 'limit'>,
): Promise<Listed<CaregiverOf>> {
  // `p_join` is the row of caregiver_participants.
  const rows = await Caregiver.query(tx)
    .alias('c')
    .joinRelated('participants', { alias: 'p' })
    .where('p.id', participantId)
    .orderByRaw(orderBy('since', { since: 'p_join.created_at' }, 'c.id'))
    .select(raw(`${OWN}, p_join.relationship, p_join.created_at as since, c.created_at, c.updated_at`))
    .castTo<CaregiverOf[]>();
  return { items: rows.slice(range.skip, range.skip + range.limit), total: rows.length };
}

export async function caregiverInStudy(
  tx: Tx,
  studyId: string,
  id: string,
  lock = false,
): Promise<CaregiverRecord | undefined> {
  const found = Caregiver.query(tx).alias('c').where({ 'c.study_id': studyId, 'c.id': id });
  if (lock) void found.forUpdate();
  return found.select(raw(COLUMNS)).first().castTo<CaregiverRecord | undefined>();
}

/** A caregiver that a request names without its study: any that the transaction sees. */
export async function caregiverById(tx: Tx, id: string): Promise<CaregiverRecord | undefined> {
  return Caregiver.query(tx).alias('c').findById(id).select(raw(COLUMNS)).castTo<CaregiverRecord | undefined>();
}

export async function insertCaregiver(tx: Tx, studyId: string, fields: Partial<CaregiverFields>): Promise<string> {
  return (
    await Caregiver.query(tx)
      .insert({ ...fields, study_id: studyId })
      .returning('id')
  ).id;
}

export async function updateCaregiver(
  tx: Tx,
  studyId: string,
  id: string,
  change: Partial<CaregiverFields>,
): Promise<void> {
  await Caregiver.query(tx).findById(id).where({ study_id: studyId }).patch(change);
}

/** Revokes what an inactive caregiver must not open or receive: links, messages that contain one, its devices. */
export async function revokeCaregiverAccess(tx: Tx, studyId: string, id: string): Promise<void> {
  await tx('portal_links').where({ study_id: studyId, caregiver_id: id }).delete();
  await tx('push_tokens').where({ study_id: studyId, caregiver_id: id }).delete();
  await tx('notifications')
    .where({ study_id: studyId, caregiver_id: id, status: 'pending' })
    .update({ status: 'cancelled', reason: 'inactive' });
}

export async function deleteCaregiver(tx: Tx, studyId: string, id: string): Promise<void> {
  await Caregiver.query(tx).deleteById(id).where({ study_id: studyId });
}

/** Whether it has a participant whom the transaction does not see, at another site. */
export async function hasParticipantsElsewhere(tx: Tx, id: string): Promise<boolean> {
  const hidden = await CaregiverParticipant.query(tx)
    .where({ caregiver_id: id })
    .whereNotExists(CaregiverParticipant.relatedQuery('participant'))
    .select('caregiver_id')
    .first();
  return hidden !== undefined;
}

/** @returns whether anything changed */
export async function upsertCare(
  tx: Tx,
  care: { caregiverId: string; participantId: string; studyId: string; relationship: string; by: string },
): Promise<boolean> {
  const written: unknown[] = await tx('caregiver_participants as k')
    .insert({
      caregiver_id: care.caregiverId,
      participant_id: care.participantId,
      study_id: care.studyId,
      relationship: care.relationship,
      created_by: care.by,
    })
    .onConflict(['caregiver_id', 'participant_id'])
    .merge(['relationship'])
    .whereRaw('k.relationship <> excluded.relationship')
    .returning('k.caregiver_id');
  return written.length === 1;
}

/** Ends the assignment, and messages to the caregiver's devices for it. @returns whether it existed */
export async function endCare(tx: Tx, caregiverId: string, participantId: string): Promise<boolean> {
  return (await CaregiverParticipant.query(tx).deleteById([caregiverId, participantId])) > 0;
}
