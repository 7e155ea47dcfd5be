import { noticeSent, noticeToSend } from '../../db/identity/account-notices.queries.js';
import type { AccountNotice } from '../../db/identity/account-notices.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { accountWords } from './account-words.js';
import { staffMail } from './mail.js';
import { RefusedMessage, faultAfter } from './provider.js';
import type { Provider } from './provider.js';
import { languageOf } from './user-link.js';
import type { Database } from '../../db/client/database.js';

/** Programs and tokens name themselves: an address in such a name must not become a link of this mail. */
const withoutLinks = (text: string): string => text.replaceAll(/https?:\/\//gi, '');

/**
 * A notice as text and as HTML: the event, its time and origin, and what to do.
 * @param login the console's; undefined: it is disabled, and there is no page to log in at
 */
function messageOf(
  { kind, details, at }: AccountNotice,
  language: 'en' | 'de',
  login: string | undefined,
): { subject: string; text: string; html: string } {
  const words = accountWords[language];
  const { subject, what } = words.kinds[kind](details);
  const from = withoutLinks([details.ip, details.user_agent].filter(Boolean).join(', '));
  const text = [`${withoutLinks(what)}\n\n${words.when(at, from)}\n${words.advice}`, ...(login ? [login] : [])].join(
    '\n\n',
  );
  const button = login === undefined ? undefined : { url: login, says: words.button };
  return staffMail({ language, subject, text, button });
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
    /** The console's page; undefined: it is disabled. */
    login: string | undefined;
    /** MESSAGE_RETRY_MAX_DAYS. */
    retryDays: number;
  }) =>
  async (id: string): Promise<void> => {
    const notice = await readInScope(database, [], (tx) => noticeToSend(tx, id));
    if (!notice) return;
    try {
      // Without a mail server nobody can be notified.
      if (mail) {
        const language = await languageOf(database, notice.user_id);
        await mail.send({ id, to: notice.email, ...messageOf(notice, language, login) });
      }
    } catch (thrown) {
      const fault = faultAfter(thrown, notice.created_at, retryDays);
      if (!(fault instanceof RefusedMessage)) throw fault;
    }
    await withStudyScope(database, [], ({ tx }) => noticeSent(tx, id));
  };
