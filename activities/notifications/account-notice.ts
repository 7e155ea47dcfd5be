import { noticeSent, noticeToSend } from '../../db/identity/account-notices.queries.js';
import type { AccountNotice, NoticeKind } from '../../db/identity/account-notices.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { staffMail } from './mail.js';
import { RefusedMessage, faultAfter } from './provider.js';
import type { Provider } from './provider.js';
import type { Database } from '../../db/client/database.js';

const PLATFORM = 'the Research Assessment Platform';
const words: Record<NoticeKind, (notice: AccountNotice) => { subject: string; what: string }> = {
  password_changed: ({ details }) => ({
    subject: 'Your password was changed',
    what:
      `The password of your account at ${PLATFORM} was changed. All logins have ended.` +
      (details.tokens_left
        ? `\nAccess tokens of yours that still work: ${details.tokens_left}. List them with GET /api/v1/tokens, ` +
          'revoke one with DELETE /api/v1/tokens/{id}.'
        : ''),
  }),
  mfa_enabled: () => ({
    subject: 'A second factor was turned on',
    what: `A second factor was turned on for your account at ${PLATFORM}.`,
  }),
  mfa_disabled: () => ({
    subject: 'Your second factor was turned off',
    what: `The second factor of your account at ${PLATFORM} was turned off.`,
  }),
  mfa_reset: () => ({
    subject: 'Your second factor was removed',
    what: `An administrator removed the second factor of your account at ${PLATFORM}. All logins have ended.`,
  }),
  recovery_code_used: () => ({
    subject: 'A recovery code was used',
    what: `A recovery code of your account at ${PLATFORM} was used in place of the second factor.`,
  }),
  recovery_codes_renewed: () => ({
    subject: 'Your recovery codes were replaced',
    what: `New recovery codes were made for your account at ${PLATFORM}. The old codes do not work any more.`,
  }),
  new_device: () => ({
    subject: 'Login from a new device',
    what: `Somebody logged in to your account at ${PLATFORM} from a device or address that was not used before.`,
  }),
  api_token_created: ({ details }) => ({
    subject: 'An access token was created',
    what: `An access token was created for your account at ${PLATFORM}: “${details.token_name ?? ''}”.`,
  }),
  reauthentication_locked: () => ({
    subject: 'Wrong passwords within your login',
    what: `Somebody who is logged in to your account at ${PLATFORM} gave a wrong password or code five times.`,
  }),
  account_locked: () => ({
    subject: 'Failed logins to your account',
    what:
      `Too many logins to your account at ${PLATFORM} failed. Where they came from nobody can log in for 15 ` +
      `minutes.\n` +
      'Devices that you logged in with before are not affected.',
  }),
};

/** Programs and tokens name themselves: an address in such a name must not become a link of this mail. */
const withoutLinks = (text: string): string => text.replaceAll(/https?:\/\//gi, '');

/** A notice as text and as HTML: the event, its time and origin, and what to do. */
function messageOf(notice: AccountNotice, login: string): { subject: string; text: string; html: string } {
  const { subject, what } = words[notice.kind](notice);
  const from = withoutLinks([notice.details.ip, notice.details.user_agent].filter(Boolean).join(', '));
  const text =
    `${withoutLinks(what)}\n\nWhen: ${notice.at}\n${from === '' ? '' : `From: ${from}\n`}\n` +
    'If this was you, you can ignore this message. If not, choose a new password and tell an ' +
    `administrator.\n\n${login}`;
  return staffMail({ language: 'en', subject, text, button: { url: login, says: 'Log in' } });
}

/** Sends a user an account notice, once. */
export const sendAccountNotice =
  ({
    database,
    mail,
    login,
    retryDays,
  }: {
    database: Database;
    mail: Provider | null;
    login: string;
    /** MESSAGE_RETRY_MAX_DAYS. */
    retryDays: number;
  }) =>
  async (id: string): Promise<void> => {
    const notice = await readInScope(database, [], (tx) => noticeToSend(tx, id));
    if (!notice) return;
    try {
      // Without a mail server nobody can be notified.
      await mail?.send({ id, to: notice.email, ...messageOf(notice, login) });
    } catch (thrown) {
      const fault = faultAfter(thrown, notice.created_at, retryDays);
      if (!(fault instanceof RefusedMessage)) throw fault;
    }
    await withStudyScope(database, [], ({ tx }) => noticeSent(tx, id));
  };
