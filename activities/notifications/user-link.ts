import { linkHash } from '../../db/portal/portal.queries.js';
import { keepUserLink, languagesOfStudies, linkToSend, userLinkSent } from '../../db/identity/user-links.queries.js';
import type { LinkPurpose } from '../../db/identity/user-links.queries.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { primaryLanguage } from '../../workflows/domain/notifications/built-in.js';
import { readInScope, withStudyScope } from '../../db/client/transaction.js';
import { linkToken } from './link.js';
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

interface LinkWords {
  subject: string;
  text: (link: string, span: string) => string;
}
interface Words extends Record<LinkPurpose, LinkWords> {
  button: string;
  /** Days, hours, or minutes. */
  units: readonly [string, string, string];
}

const en: Words = {
  password_reset: {
    subject: 'Choose a new password',
    text: (link, span) =>
      'Somebody, most likely you, asked for a new password for your account of the Research Assessment ' +
      `Platform.\n\n${link}\n\n` +
      `The link works once, for ${span}. If you did not request this, you can ignore it: your ` +
      `password stays as it is.\n`,
  },
  invitation: {
    subject: 'Your account of the Research Assessment Platform',
    text: (link, span) =>
      `An account was made for you. Choose your password here:\n\n${link}\n\nThe link works once, for ${span}.\n`,
  },
  button: 'Choose a password',
  units: ['days', 'hours', 'minutes'],
};

const de: Words = {
  password_reset: {
    subject: 'Neues Passwort wählen',
    text: (link, span) =>
      'Jemand, wahrscheinlich Sie, hat für Ihr Konto bei der Research Assessment Platform ein neues Passwort ' +
      `angefordert.\n\n${link}\n\n` +
      `Der Link gilt einmal, ${span} lang. Wenn Sie ihn nicht angefordert haben, können Sie diese Nachricht ` +
      'ignorieren: Ihr Passwort bleibt, wie es ist.\n',
  },
  invitation: {
    subject: 'Ihr Konto bei der Research Assessment Platform',
    text: (link, span) =>
      `Für Sie wurde ein Konto angelegt. Wählen Sie hier Ihr Passwort:\n\n${link}\n\n` +
      `Der Link gilt einmal, ${span} lang.\n`,
  },
  button: 'Passwort wählen',
  units: ['Tage', 'Stunden', 'Minuten'],
};

function span(minutes: number, language: 'en' | 'de', [days, hours, short]: Words['units']): string {
  if (minutes >= 2880) return `${Math.round(minutes / 1440)} ${days}`;
  if (minutes >= 120) return `${Math.round(minutes / 60)} ${hours}`;
  return `${minutes.toLocaleString(language, { maximumFractionDigits: 2 })} ${short}`;
}

/**
 * The language of a mail to a user about the account: German if the page was German by which it was asked for, or all
 * of the user's studies are; else English.
 */
export async function languageOf(database: Database, userId: string, asked?: string): Promise<'en' | 'de'> {
  const known =
    asked === undefined ? await readInScope(database, '*', (tx) => languagesOfStudies(tx, userId)) : [asked];
  return known.length > 0 && known.every((one) => primaryLanguage(one ?? '') === 'de') ? 'de' : 'en';
}

/**
 * Sends a user a link to choose a password. Its token is stored nowhere else; after a crash the message is sent again,
 * with the same link.
 * `asked`: the language of the page by which the user asked for it.
 */
export const sendUserLink =
  ({ database, mail, secret, publicUrl, pages, minutes, retryDays }: UserLinkDeps) =>
  async (id: string, asked?: string): Promise<void> => {
    if (!secret)
      throw Object.assign(new Error('SESSION_SECRET is not set: a link cannot be made.'), {
        code: 'SESSION_SECRET_MISSING',
      });
    if (!mail)
      throw Object.assign(new Error('SMTP_URL is not set: a link cannot be sent.'), { code: 'SMTP_URL_MISSING' });
    const link = await withStudyScope(database, [], async ({ tx }) => {
      const due = await linkToSend(tx, id, minutes);
      if (!due) return undefined;
      const token = linkToken(secret, { kind: 'user', id, to: due.email, period: due.period });
      await keepUserLink(tx, { id, hash: linkHash(secret, token), minutes: minutes[due.purpose] });
      return { ...due, token };
    });
    // Used or sent already, or the user was deactivated.
    if (!link) return;
    const { token } = link;
    let refusal: string | undefined;
    try {
      const page = link.purpose === 'invitation' ? pages?.accept : pages?.reset;
      const url = page?.(token) ?? `${publicUrl.replace(/\/+$/, '')}/account/password?token=${token}`;
      const language = await languageOf(database, link.user_id, asked);
      const words = language === 'de' ? de : en;
      const { subject, text: textOf } = words[link.purpose];
      const text = textOf(url, span(minutes[link.purpose], language, words.units));
      const button = { url, says: words.button };
      await mail.send({
        id,
        to: link.email,
        subject,
        text,
        html: textMail({ language, title: subject, text: text.trimEnd(), button }),
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
