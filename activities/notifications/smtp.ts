import { Transform } from 'node:stream';
import { domainToASCII } from 'node:url';
import { createTransport } from 'nodemailer';
import type { Transporter } from 'nodemailer';
import addressparser from 'nodemailer/lib/addressparser';
import type SMTPPool from 'nodemailer/lib/smtp-pool/index.js';
import { REPORT_HEADER, isDeadAddress } from '../../workflows/domain/notifications/bounces.js';
import { RefusedMessage } from './provider.js';
import type { Provider } from './provider.js';

/** Connections to the mail server for each process; for large numbers its thread (mail-thread/) has as many. */
const CONNECTIONS = 8;

/** More than one address, or a line: an import has addresses that nobody validated. */
const SEVERAL = /[\s,;<>"()]/;
const NOT_USABLE = 'the mail server refused the message: its address is not usable';

/**
 * Mail over SMTP. SMTP has no idempotency: a message whose answer was lost is sent again under the same Message-ID, by
 * which mailboxes and mail servers detect duplicates. Errors contain no address.
 */
export function smtpMailer(url: string, from: string): Provider {
  // A hanging mail server must not block the relay's other messages for the library's default of two minutes.
  const transport: Transporter = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS,
    maxMessages: 1_000,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: 10_000,
  } as SMTPPool.Options & { url: string });
  const domain = domainOf(from);
  transport.use('stream', (mail, done) => {
    mail.message.transform(() => inOnePiece());
    done();
  });
  return {
    send: async ({ id, key, to, subject, text, html, unsubscribeUrl, calendar, reportToken }) => {
      if (SEVERAL.test(to)) throw new RefusedMessage(NOT_USABLE);
      try {
        await transport.sendMail({
          from,
          to,
          subject,
          text,
          dsn: { id, return: 'headers', notify: ['failure'] },
          messageId: `<${key ?? id}@${domain}>`,
          ...(html !== undefined && { html }),
          headers: {
            // Prevents out-of-office replies (RFC 3834).
            'Auto-Submitted': 'auto-generated',
            'X-Notification-Id': id,
            ...(reportToken !== undefined && { [REPORT_HEADER]: reportToken }),
            ...(unsubscribeUrl !== undefined && {
              'List-Unsubscribe': `<${unsubscribeUrl}>`,
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            }),
          },
          ...(calendar !== undefined && {
            attachments: [
              { filename: 'visit.ics', content: calendar, contentType: 'text/calendar; charset=utf-8; method=PUBLISH' },
            ],
          }),
        });
      } catch (fault) {
        const refusal = fault as Refusal;
        const { responseCode, code } = refusal;
        // The server's message may contain the recipient: its code is enough.
        const isAnswer = code === 'EENVELOPE' || code === 'EMESSAGE';
        const ofService = isAnswer && isAboutService(refusal);
        if (isAnswer && !ofService && (responseCode === undefined || responseCode >= 500))
          throw new RefusedMessage(
            responseCode === undefined ? NOT_USABLE : `the mail server refused the message (${responseCode})`,
            isUnknownMailbox(refusal),
          );
        throw Object.assign(
          new Error(
            `The mail server did not take the message${responseCode === undefined ? '' : ` (${responseCode})`}.`,
          ),
          { code: ofService ? `SMTP_${responseCode}` : (code ?? 'SMTP') },
        );
      }
    },
    close: () => {
      transport.close();
    },
  };
}

/** The domain of a sender, for the right side of a Message-ID (RFC 5322, 3.6.4). */
function domainOf(sender: string): string {
  const [first] = addressparser(sender, { flatten: true });
  const domain = domainToASCII(first?.address.split('@').at(-1) ?? '');
  return domain === '' ? 'localhost' : domain;
}

/** The library writes a mail line by line; a network write for each takes a quarter of a mail's time. */
function inOnePiece(): Transform {
  const pieces: Buffer[] = [];
  return new Transform({
    transform(piece: Buffer, _, done) {
      pieces.push(piece);
      done();
    },
    flush(done) {
      done(null, Buffer.concat(pieces));
    },
  });
}

/** A refused command of SMTP, as the library reports it. */
interface Refusal {
  code?: string;
  responseCode?: number;
  response?: string;
  /** `MAIL FROM`, `RCPT TO`, `DATA` */
  command?: string;
}

/** No login, or none that may send (RFC 4954). */
const NO_ACCESS = [530, 534, 535, 538];
const TOO_LONG = 552;
/** Many servers refuse a sender at its first recipient only. */
const NO_ACCESS_IN_WORDS = /\brelay|\bsender address rejected|\bauthentication required/i;
const ADDRESSES = /\S+@\S+/g;

/**
 * Whether a refusal is about this service: its login, its sender, or that it may send elsewhere at all. It is the same
 * for each message, until somebody corrects a setting here or there.
 */
const isAboutService = ({ command, responseCode = 0, response = '' }: Refusal): boolean =>
  responseCode >= 500 &&
  (NO_ACCESS.includes(responseCode) ||
    (command === 'MAIL FROM' && responseCode !== TOO_LONG) ||
    (command === 'RCPT TO' && NO_ACCESS_IN_WORDS.test(response.replaceAll(ADDRESSES, ''))));

/**
 * Whether the server reports that the mailbox does not exist (RFC 3463), rather than a problem with sender or message.
 * Without such a status the code alone says so only of the recipient's command: of a content it means another rule.
 */
function isUnknownMailbox({ response = '', responseCode = 0, command }: Refusal): boolean {
  const enhanced = /^5\d\d[ -](5\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
  return enhanced === undefined
    ? command === 'RCPT TO' && [550, 551, 553].includes(responseCode)
    : isDeadAddress(enhanced);
}
