import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export type LinkPurpose = 'password_reset' | 'invitation';

/** A link that is to be sent to a user. @returns its id */
export async function insertUserLink(tx: Tx, userId: string, purpose: LinkPurpose): Promise<string> {
  const [row] = (await tx('user_links').insert({ user_id: userId, purpose }).returning('id')) as [{ id: string }];
  return row.id;
}

/**
 * Keeps the hash of the token that a message is about to carry; written again, the last one counts. Undefined: nothing
 * is to be sent (any more).
 */
export async function keepUserLink(
  tx: Tx,
  link: { id: string; hash: Buffer; minutes: Record<LinkPurpose, number> },
): Promise<{ email: string; purpose: LinkPurpose } | undefined> {
  const rows = await query<{ email: string; purpose: LinkPurpose }>(
    tx,
    `update user_links l set token_hash = $1, expires_at = clock_timestamp() + case l.purpose when 'invitation' then $2::float8 else $3::float8 end * interval '1 minute' from users u
     where l.id = $4 and l.used_at is null and l.sent_at is null and u.id = l.user_id and u.status = 'active' returning u.email, l.purpose`,
    [link.hash, link.minutes.invitation, link.minutes.password_reset, link.id],
  );
  return rows[0];
}

export async function userLinkSent(tx: Tx, id: string): Promise<void> {
  await tx('user_links')
    .where({ id })
    .update({ sent_at: tx.raw('clock_timestamp()') });
}

/** The active user whom a link was sent to, its row locked; the link is in time and was not used. */
export async function userOfLink(
  tx: Tx,
  hash: Buffer,
): Promise<{ link_id: string; user_id: string; email: string; purpose: LinkPurpose } | undefined> {
  const rows = await query<{ link_id: string; user_id: string; email: string; purpose: LinkPurpose }>(
    tx,
    `select l.id as link_id, u.id as user_id, u.email, l.purpose from user_links l join users u on u.id = l.user_id
     where l.token_hash = $1 and l.used_at is null and l.expires_at > clock_timestamp() and u.status = 'active' for update of u, l`,
    [hash],
  );
  return rows[0];
}

/** Uses up every link of the user: one password was chosen, the others are good for none. */
export async function endUserLinks(tx: Tx, userId: string): Promise<void> {
  await tx('user_links')
    .where({ user_id: userId })
    .whereNull('used_at')
    .update({ used_at: tx.raw('clock_timestamp()') });
}
