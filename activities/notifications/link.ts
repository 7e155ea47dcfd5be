import { createHmac } from 'node:crypto';
import { keepLink, linkHash, linkPeriod } from '../../db/portal/portal.queries.js';
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
 * The token of the link in a message to an address, the same for each of its attempts within one lifetime of the link.
 * An attempt whose answer was lost may have arrived; mailboxes and gateways then pass on that one alone, and drop the
 * next as its duplicate. Nobody can compute it without the secret.
 * @param message `period`: how many lifetimes of the link have passed since the message was created
 */
export const linkToken = (
  secret: string,
  message: { kind: 'portal' | 'user'; id: string; to: string; period: number },
): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['link', message.kind, message.id, message.to, message.period]))
    .digest('base64url');

/**
 * The texts of a portal link: only its message contains the token, the database stores its hash.
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
  const { token, kept } = await withStudyScope(database, '*', async ({ tx }) => {
    const period = await linkPeriod(tx, notificationId, minutes);
    const written = linkToken(secret, { kind: 'portal', id: notificationId, to, period });
    const hash = linkHash(secret, written);
    return { token: written, kept: await keepLink(tx, { notificationId, hash, minutes, to }) };
  });
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
