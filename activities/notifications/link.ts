import { randomBytes } from 'node:crypto';
import { keepLink, linkHash } from '../../db/portal/portal.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Database } from '../../db/client/database.js';

export interface LinkSettings {
  /** SESSION_SECRET. */
  secret: string | undefined;
  /** MAGIC_LINK_MINUTES. */
  minutes: number;
  publicUrl: string;
}

/**
 * The texts of a portal link, created for one sending of its message: only they contain the token, the database stores
 * its hash.
 * @param to the address that the message goes to
 * @returns undefined when the link was opened already
 * @throws Error in one sentence when SESSION_SECRET is not set; ADDRESS_CHANGED when it was corrected meanwhile: the
 *   message is written again
 */
export async function writeLink(
  database: Database,
  { notificationId, to }: { notificationId: string; to: string },
  { secret, minutes, publicUrl }: LinkSettings,
): Promise<{ link: string; minutes: string; new_link_url: string } | undefined> {
  if (!secret)
    throw Object.assign(new Error('SESSION_SECRET is not set: a portal link cannot be made.'), {
      code: 'SESSION_SECRET_MISSING',
    });
  const token = randomBytes(32).toString('base64url');
  const kept = await withStudyScope(database, '*', ({ tx }) =>
    keepLink(tx, { notificationId, hash: linkHash(secret, token), minutes, to }),
  );
  if (kept === 'moved')
    throw Object.assign(new Error('The address was corrected while the message was written.'), {
      code: 'ADDRESS_CHANGED',
    });
  const page = `${publicUrl.replace(/\/+$/, '')}/portal`;
  return kept === 'kept'
    ? {
        link: `${page}?token=${token}`,
        new_link_url: page,
        minutes: String(Math.round(minutes * 100) / 100),
      }
    : undefined;
}
