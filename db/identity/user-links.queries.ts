import { raw } from 'objection';
import { User, UserLink } from '../models/identity.js';
import type { Tx } from '../client/database.js';

export type LinkPurpose = 'password_reset' | 'invitation';

/** Inserts a link that is to be sent to a user. @returns its id */
export async function insertUserLink(tx: Tx, userId: string, purpose: LinkPurpose): Promise<string> {
  return (await UserLink.query(tx).insert({ user_id: userId, purpose }).returning('id')).id;
}

/** A link that is about to be sent. `period`: how many of its lifetimes have passed since it was created. */
export interface LinkToSend {
  id: string;
  user_id: string;
  email: string;
  purpose: LinkPurpose;
  created_at: string;
  period: number;
}

/**
 * Locks the user of a link, before the link: who deactivates a user, and ends its links, takes them in this order.
 */
async function lockUserOf(tx: Tx, link: { id: string } | { token_hash: Buffer }): Promise<void> {
  const found = await UserLink.query(tx).findOne(link).select('user_id');
  if (found) await User.query(tx).findById(found.user_id).forUpdate().select('id');
}

const LIFETIME = `case l.purpose when 'invitation' then ?::float8 else ?::float8 end`;

/**
 * A user's link that is to be sent, locked. Undefined: nothing is to be sent (any more).
 * @param minutes the lifetime of a link
 */
export async function linkToSend(
  tx: Tx,
  id: string,
  { invitation, password_reset }: Record<LinkPurpose, number>,
): Promise<LinkToSend | undefined> {
  await lockUserOf(tx, { id });
  return UserLink.query(tx)
    .alias('l')
    .joinRelated('user', { alias: 'u' })
    .where({ 'l.id': id, 'u.status': 'active' })
    .whereNull('l.used_at')
    .whereNull('l.sent_at')
    .forUpdate()
    .select('l.id', 'l.user_id', 'u.email', 'l.purpose', 'l.created_at')
    .select(
      raw(`floor(extract(epoch from clock_timestamp() - l.created_at) / (${LIFETIME} * 60))::integer as period`, [
        invitation,
        password_reset,
      ]),
    )
    .first()
    .castTo<LinkToSend | undefined>();
}

/** Stores the hash of the token in a message that is about to be sent; the last one counts. */
export async function keepUserLink(tx: Tx, link: { id: string; hash: Buffer; minutes: number }): Promise<void> {
  await UserLink.query(tx)
    .findById(link.id)
    .patch({
      token_hash: link.hash,
      expires_at: raw(`clock_timestamp() + ?::float8 * interval '1 minute'`, [link.minutes]),
    });
}

/** The default languages of a user's studies. */
export async function languagesOfStudies(tx: Tx, userId: string): Promise<(string | null)[]> {
  const rows = (await tx('studies as s')
    .whereIn('s.id', tx('user_studies').select('study_id').where({ user_id: userId }))
    .distinct(tx.raw(`s.config #>> '{notifications,default_language}' as language`))) as { language: string | null }[];
  return rows.map(({ language }) => language);
}

export async function userLinkSent(tx: Tx, id: string): Promise<void> {
  await UserLink.query(tx)
    .findById(id)
    .patch({ sent_at: raw('clock_timestamp()') });
}

/** The active user of a link, locked; the link is unexpired and unused. */
export async function userOfLink(
  tx: Tx,
  hash: Buffer,
): Promise<{ link_id: string; user_id: string; email: string; purpose: LinkPurpose } | undefined> {
  await lockUserOf(tx, { token_hash: hash });
  return UserLink.query(tx)
    .alias('l')
    .joinRelated('user', { alias: 'u' })
    .where({ 'l.token_hash': hash, 'u.status': 'active' })
    .whereNull('l.used_at')
    .where('l.expires_at', '>', raw('clock_timestamp()'))
    .forUpdate()
    .select('l.id as link_id', 'u.id as user_id', 'u.email', 'l.purpose')
    .first()
    .castTo<{ link_id: string; user_id: string; email: string; purpose: LinkPurpose } | undefined>();
}

/** Uses up every link of the user: a password was chosen, so the others become invalid. */
export async function endUserLinks(tx: Tx, userId: string): Promise<void> {
  await UserLink.query(tx)
    .where({ user_id: userId })
    .whereNull('used_at')
    .patch({ used_at: raw('clock_timestamp()') });
}
