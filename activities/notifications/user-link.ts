import { randomBytes } from 'node:crypto';
import { linkHash } from '../../db/portal/portal.queries.js';
import { keepUserLink, userLinkSent } from '../../db/identity/user-links.queries.js';
import type { LinkPurpose } from '../../db/identity/user-links.queries.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { textMail } from './mail.js';
import { RefusedMessage, faultAfter } from './provider.js';
import type { Provider } from './provider.js';
import type { Database } from '../../db/client/database.js';

export interface UserLinkDeps {
  database: Database;
  mail: Provider | null;
  /** SESSION_SECRET. */
  secret: string | undefined;
  publicUrl: string;
  /** Set if the console is enabled. */
  pages: ConsoleLinks | undefined;
  minutes: Record<LinkPurpose, number>;
  /** MESSAGE_RETRY_MAX_DAYS. */
  retryDays: number;
}

const words: Record<LinkPurpose, (link: string, minutes: number) => { subject: string; text: string }> = {
  password_reset: (link, minutes) => ({
    subject: 'Choose a new password',
    text:
      'Somebody, most likely you, asked for a new password for your account of the Research Assessment ' +
      `Platform.\n\n${link}\n\n` +
      `The link works once, for ${span(minutes)}. If you did not request this, you can ignore it: your ` +
      `password stays as it is.\n`,
  }),
  invitation: (link, minutes) => ({
    subject: 'Your account of the Research Assessment Platform',
    text:
      `An account was made for you. Choose your password here:\n\n${link}\n\nThe link works once, for ` +
      `${span(minutes)}.\n`,
  }),
};
const span = (minutes: number): string =>
  minutes >= 2880
    ? `${Math.round(minutes / 1440)} days`
    : minutes >= 120
      ? `${Math.round(minutes / 60)} hours`
      : `${Math.round(minutes * 100) / 100} minutes`;

/**
 * Sends a user a link to choose a password. The token is created for this sending and stored nowhere else; after a
 * crash the message is sent again, and the last link counts.
 */
export const sendUserLink =
  ({ database, mail, secret, publicUrl, pages, minutes, retryDays }: UserLinkDeps) =>
  async (id: string): Promise<void> => {
    if (!secret)
      throw Object.assign(new Error('SESSION_SECRET is not set: a link cannot be made.'), {
        code: 'SESSION_SECRET_MISSING',
      });
    if (!mail)
      throw Object.assign(new Error('SMTP_URL is not set: a link cannot be sent.'), { code: 'SMTP_URL_MISSING' });
    const token = randomBytes(32).toString('base64url');
    const link = await withStudyScope(database, [], ({ tx }) =>
      keepUserLink(tx, { id, hash: linkHash(secret, token), minutes }),
    );
    // Used or sent already, or the user was deactivated.
    if (!link) return;
    let refusal: string | undefined;
    try {
      const page = link.purpose === 'invitation' ? pages?.accept : pages?.reset;
      const url = page?.(token) ?? `${publicUrl.replace(/\/+$/, '')}/account/password?token=${token}`;
      const { subject, text } = words[link.purpose](url, minutes[link.purpose]);
      const button = { url, says: 'Choose a password' };
      await mail.send({
        id,
        to: link.email,
        subject,
        text,
        html: textMail({ language: 'en', title: subject, text: text.trimEnd(), button }),
      });
    } catch (thrown) {
      const fault = faultAfter(thrown, link.created_at, retryDays);
      if (!(fault instanceof RefusedMessage)) throw fault;
      refusal = fault.message;
    }
    await withStudyScope(database, [], async ({ tx, audit }) => {
      await userLinkSent(tx, id);
      // Nothing else tells an administrator that the person never got it.
      if (refusal !== undefined)
        audit.record({
          study_id: null,
          user_id: null,
          action: 'user_link_refused',
          resource_type: 'user',
          resource_id: link.user_id,
          metadata: { purpose: link.purpose, reason: refusal },
        });
    });
  };
