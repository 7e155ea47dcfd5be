import { lockByName } from '../client/advisory-lock.js';
import { ExportJob } from '../models/jobs.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/**
 * The number of a user's exports of a study that are unfinished or have files. Concurrent requests of the user run one
 * after another until the commit.
 */
export async function exportsHeldBy(tx: Tx, holder: { userId: string; studyId: string }): Promise<number> {
  await lockByName(tx, `exports ${holder.studyId} ${holder.userId}`);
  return ExportJob.query(tx)
    .where({ requested_by_id: holder.userId, study_id: holder.studyId })
    .whereIn('status', ['pending', 'running', 'completed'])
    .resultSize();
}

export type LinkRecipient = { participant_id: string } | { caregiver_id: string } | { user_id: string };

/** The number of links sent to a recipient within the last hour; concurrent requests run one after another. */
export async function linksSentTo(tx: Tx, to: LinkRecipient): Promise<number> {
  const [[column, id]] = Object.entries(to) as [[string, string]];
  await lockByName(tx, `links ${id}`);
  const found =
    column === 'user_id'
      ? tx('user_links').where({ user_id: id })
      : tx('notifications').where({ [column]: id, kind: 'magic_link' });
  const [row] = (await found.whereRaw(`created_at > clock_timestamp() - interval '1 hour'`).count('* as count')) as [
    { count: number },
  ];
  return row.count;
}

/** The number of messages sent again to a recipient within the last hour; concurrent requests run one after another. */
export async function resentTo(tx: Tx, to: LinkRecipient): Promise<number> {
  await lockByName(tx, `resent ${Object.values(to).join('')}`);
  const [row] = (await tx('notifications')
    .where(to)
    .whereNotNull('resend_of')
    .whereRaw(`created_at > clock_timestamp() - interval '1 hour'`)
    .count('* as count')) as [{ count: number }];
  return row.count;
}

/** Whether an address belongs to a user, a participant or a caregiver. Phone numbers are compared without spaces. */
export async function isKnownRecipient(tx: Tx, channel: 'email' | 'sms', address: string): Promise<boolean> {
  const bare = (column: string) =>
    `regexp_replace(${column}, '[^0-9+]', '', 'g') = regexp_replace($1, '[^0-9+]', '', 'g')`;
  const rows = await query<{ known: boolean }>(
    tx,
    channel === 'email'
      ? `select exists (select from users where lower(email) = lower($1)) or exists (select from participants
        where lower(email) = lower($1))
           or exists (select from caregivers where lower(email) = lower($1)) as known`
      : `select exists (select from participants where ${bare('phone')}) or exists (select from caregivers
        where ${bare('phone')}) as known`,
    [address],
  );
  return rows[0]!.known;
}
