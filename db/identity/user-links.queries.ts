import { raw } from 'objection';
import { User, UserLink } from '../models/identity.js';
import type { Tx } from '../client/database.js';

export type LinkPurpose = 'password_reset' | 'invitation';

/** Inserts a link that is to be sent to a user. @returns its id */
export async function insertUserLink(tx: Tx, userId: string, purpose: LinkPurpose): Promise<string> {
  return (await UserLink.query(tx).insert({ user_id: userId, purpose }).returning('id')).id;
}

/**
 * Stores the hash of the token in the message that is about to be sent; the last one counts. Undefined: nothing is to
 * be sent (any more).
 */
export async function keepUserLink(
  tx: Tx,
  link: { id: string; hash: Buffer; minutes: Record<LinkPurpose, number> },
): Promise<{ user_id: string; email: string; purpose: LinkPurpose; created_at: string } | undefined> {
  const { invitation, password_reset } = link.minutes;
  const [kept] = await UserLink.query(tx)
    .where({ id: link.id })
    .whereNull('used_at')
    .whereNull('sent_at')
    .whereExists(UserLink.relatedQuery('user').where({ status: 'active' }))
    .patch({
      token_hash: link.hash,
      expires_at: raw(
        `clock_timestamp() + case purpose when 'invitation' then ?::float8 else ?::float8 end * interval '1 minute'`,
        [invitation, password_reset],
      ),
    })
    .returning(['user_id', 'purpose', 'created_at']);
  if (!kept) return undefined;
  const user = await User.query(tx).findById(kept.user_id).select('email');
  return { user_id: kept.user_id, email: user!.email, purpose: kept.purpose, created_at: kept.created_at };
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
