import { lockByName } from '../client/advisory-lock.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** The owner of an address: an enrolled participant, or an active caregiver of one. */
export interface AddressOwner {
  participant_id: string | null;
  caregiver_id: string | null;
  study_id: string;
}
/** The most links to one person within some minutes: nobody can flood another person's mailbox. */
const MAX_LINKS = 3;
const MINUTES = 10;
/** An address of more records than this gets no link. */
const MAX_OWNERS = 10;

/**
 * The owners of an address who were not sent the most links lately. Concurrent requests for one address run one after
 * another until the commit: each would count before the others have sent theirs.
 */
export async function ownersOf(tx: Tx, channel: 'email' | 'sms', address: string): Promise<AddressOwner[]> {
  await lockByName(tx, `links to ${channel === 'email' ? address.toLowerCase() : address.replaceAll(/[^0-9]/g, '')}`);
  const is = (table: string) =>
    channel === 'email'
      ? `${table}.email is not null and lower(${table}.email) = lower($4)`
      : // `00` before the country's number is what others write as `+`.
        `${table}.phone is not null and regexp_replace(${table}.phone, '[^0-9]', '', 'g') in (
          regexp_replace(regexp_replace($4, '[^0-9]', '', 'g'), '^00', ''),
          '00' || regexp_replace(regexp_replace($4, '[^0-9]', '', 'g'), '^00', ''))`;
  const rows = await query<AddressOwner>(
    tx,
    `with owners as (
       select p.id as participant_id, null::uuid as caregiver_id, p.study_id from participants p
         where p.status = 'enrolled' and ${is('p')}
       union all
       select null, c.id, c.study_id from caregivers c where c.status = 'active' and ${is('c')}
         and exists (select from caregiver_participants k join participants x on x.id = k.participant_id
           where k.caregiver_id = c.id and x.status = 'enrolled'))
     select * from owners o where (
       select count(*) from notifications n
         where n.kind = 'magic_link' and n.created_at > now() - $1 * interval '1 minute'
         and (n.participant_id = o.participant_id or n.caregiver_id = o.caregiver_id)) < $2
     order by o.study_id, o.participant_id, o.caregiver_id limit $3`,
    [MINUTES, MAX_LINKS, MAX_OWNERS, address],
  );
  return rows;
}
