import { orderBy, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface CaregiverFields {
  name: string | null;
  email: string | null;
  phone: string | null;
  preferred_language: string | null;
  status: 'active' | 'inactive';
}
/** Whom a caregiver cares for, as far as the transaction sees participants. */
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
/** A caregiver as one participant's. */
export interface CaregiverOf extends Omit<CaregiverRecord, 'participants'> {
  relationship: string;
  since: string;
}

const OWN = 'c.id, c.study_id, c.name, c.email, c.phone, c.preferred_language, c.status';
// Through the participants, so that isolation by site holds for whom it names.
const COLUMNS = `${OWN}, (select coalesce(jsonb_agg(jsonb_build_object('participant_id', k.participant_id, 'relationship', k.relationship) order by k.created_at, k.participant_id), '[]')
  from caregiver_participants k join participants p on p.id = k.participant_id where k.caregiver_id = c.id) as participants, c.created_at, c.updated_at`;
const SORTS = { created_at: 'c.created_at', name: 'c.name', status: 'c.status', updated_at: 'c.updated_at' };
export const caregiverSorts = ['created_at', 'name', 'status', 'updated_at'] as const;

/** Holds whom a caregiver cares for, and one who is named: an erasure takes the participant before who cares for it. */
export async function lockCared(tx: Tx, caregiverId: string, participantId?: string): Promise<void> {
  await execute(
    tx,
    `select 1 from participants p where p.id in (select k.participant_id from caregiver_participants k where k.caregiver_id = $1) or p.id = $2
     order by p.id for update`,
    [caregiverId, participantId ?? null],
  );
}

/** Caregivers of a study; `search` is found anywhere in name or email, as it is written. */
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
        q.whereRaw('position(lower(?) in lower(concat_ws(chr(10), c.name, c.email))) > 0', [filter.search]);
    });
  return page(tx, found, COLUMNS, filter, SORTS, 'c.id');
}

/** Who cares for a participant, whom the transaction must see. */
export async function caregiversOf(
  tx: Tx,
  participantId: string,
  range: Pick<Page, 'skip' | 'limit'>,
): Promise<Listed<CaregiverOf>> {
  const rows = await query<CaregiverOf & { total: number }>(
    tx,
    `select ${OWN}, k.relationship, k.created_at as since, c.created_at, c.updated_at, count(*) over () as total
     from caregiver_participants k join caregivers c on c.id = k.caregiver_id join participants p on p.id = k.participant_id
     where k.participant_id = $1 order by ${orderBy('since', { since: 'k.created_at' }, 'c.id')}`,
    [participantId],
  );
  const all = rows.map(({ total: _total, ...row }) => row);
  return { items: all.slice(range.skip, range.skip + range.limit), total: all.length };
}

export async function caregiverInStudy(
  tx: Tx,
  studyId: string,
  id: string,
  lock = false,
): Promise<CaregiverRecord | undefined> {
  return (
    await query<CaregiverRecord>(
      tx,
      `select ${COLUMNS} from caregivers c where c.study_id = $1 and c.id = $2 ${lock ? 'for update of c' : ''}`,
      [studyId, id],
    )
  )[0];
}

/** One that a request names without its study: any that the transaction sees. */
export async function caregiverById(tx: Tx, id: string): Promise<CaregiverRecord | undefined> {
  return (await query<CaregiverRecord>(tx, `select ${COLUMNS} from caregivers c where c.id = $1`, [id]))[0];
}

export async function insertCaregiver(tx: Tx, studyId: string, fields: Partial<CaregiverFields>): Promise<string> {
  const [row] = (await tx('caregivers')
    .insert({ ...fields, study_id: studyId })
    .returning('id')) as [{ id: string }];
  return row.id;
}

export async function updateCaregiver(
  tx: Tx,
  studyId: string,
  id: string,
  change: Partial<CaregiverFields>,
): Promise<void> {
  await tx('caregivers').where({ study_id: studyId, id }).update(change);
}

/**
 * What a caregiver that is not active any more must not open or receive: links, messages that bear one, its devices.
 */
export async function revokeCaregiverAccess(tx: Tx, studyId: string, id: string): Promise<void> {
  await tx('portal_links').where({ study_id: studyId, caregiver_id: id }).delete();
  await tx('push_tokens').where({ study_id: studyId, caregiver_id: id }).delete();
  await tx('notifications')
    .where({ study_id: studyId, caregiver_id: id, status: 'pending' })
    .update({ status: 'cancelled', reason: 'inactive' });
}

export async function deleteCaregiver(tx: Tx, studyId: string, id: string): Promise<void> {
  await tx('caregivers').where({ study_id: studyId, id }).delete();
}

/** Whether it cares for somebody whom the transaction does not see: who is at another site. */
export async function hasParticipantsElsewhere(tx: Tx, id: string): Promise<boolean> {
  const rows = await query<{ beyond: boolean }>(
    tx,
    `select exists (select from caregiver_participants k where k.caregiver_id = $1 and not exists (select from participants p where p.id = k.participant_id)) as beyond`,
    [id],
  );
  return rows[0]!.beyond;
}

/** @returns whether anything changed */
export async function upsertCare(
  tx: Tx,
  care: { caregiverId: string; participantId: string; studyId: string; relationship: string; by: string },
): Promise<boolean> {
  const rowCount = await execute(
    tx,
    `insert into caregiver_participants as k (caregiver_id, participant_id, study_id, relationship, created_by) values ($1, $2, $3, $4, $5)
     on conflict (caregiver_id, participant_id) do update set relationship = excluded.relationship where k.relationship <> excluded.relationship`,
    [care.caregiverId, care.participantId, care.studyId, care.relationship, care.by],
  );
  return rowCount === 1;
}

/** Ends it, and with it the messages to the caregiver's devices. @returns whether it was there */
export async function endCare(tx: Tx, caregiverId: string, participantId: string): Promise<boolean> {
  return (
    (await tx('caregiver_participants').where({ caregiver_id: caregiverId, participant_id: participantId }).delete()) >
    0
  );
}
