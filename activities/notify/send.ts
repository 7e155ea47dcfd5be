import { createTransport } from 'nodemailer';
import type { Transporter } from 'nodemailer';
import type SMTPTransport from 'nodemailer/lib/smtp-transport/index.js';
import type { Database } from '../../db/knex.js';
import { inScope } from '../../db/transaction.js';
import { writeLink } from './link.js';
import type { LinkSettings } from './link.js';
import { RefusedMessage } from './provider.js';
import type { Provider } from './provider.js';
import { textOf } from './texts.js';
import type { NotificationKind } from './texts.js';

interface NotificationRow {
  id: string; kind: NotificationKind; channel: 'email' | 'sms' | 'push'; status: string; study_code: string; participant_code: string | null; participant_status: string | null;
  email: string | null; phone: string | null; details: Record<string, string> | null;
}

/** Mail over SMTP. A refused recipient is an error that names no address. */
export function smtpMailer(url: string, from: string): Provider {
  // A mail server that hangs must not hold up the relay's other messages for the library's two minutes.
  const transport: Transporter = createTransport({ url, connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 } as SMTPTransport.Options & { url: string });
  return {
    send: async ({ id, to, subject, text }) => {
      await transport.sendMail({ from, to, subject, text, messageId: `<${id}@research-assessment>`, headers: { 'X-Notification-Id': id } });
    },
  };
}

export interface Channels { email: Provider | null; sms: Provider | null }
const unconfigured = { email: 'no mail server is configured', sms: 'no SMS gateway is configured (SMS_GATEWAY_URL)', push: 'push messages are not sent' };

/**
 * Sends one notification and notes that it went. Sent again only when the process dies between the two: the message
 * bears the notification's id.
 */
export const sendNotification = (deps: { database: Database; channels: Channels; links: LinkSettings }) => async (id: string): Promise<void> => {
  const row = await inScope(deps.database, '*', async ({ tx }) => {
    const { rows } = await tx.raw(
      `select n.id, n.kind, n.channel, n.status, s.study_code, p.participant_code, p.status as participant_status, coalesce(u.email, p.email) as email, p.phone,
         case when o.id is not null then jsonb_build_object('previous', o.previous_enrollment_date, 'wanted', o.new_enrollment_date, 'expires', to_char(o.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), 'study_id', o.study_id, 'participant_id', o.participant_id) end as details
       from notifications n left join studies s on s.id = n.study_id left join participants p on p.id = n.participant_id
       left join users u on u.id = n.user_id left join override_requests o on o.id = n.subject_id where n.id = ?`, [id]);
    return rows[0] as NotificationRow | undefined;
  });
  if (!row || row.status !== 'pending') return;
  const settle = (status: 'sent' | 'failed' | 'cancelled', reason: string | null) => inScope(deps.database, '*', async ({ tx }) => {
    await tx.raw(`update notifications set status = ?, attempts = attempts + 1, reason = ?, sent_at = case when ? = 'sent' then clock_timestamp() end where id = ?`, [status, reason, status, id]);
  });
  const provider = row.channel === 'push' ? null : deps.channels[row.channel];
  if (!provider) return void (await settle('failed', unconfigured[row.channel]));
  const to = row.channel === 'sms' ? row.phone : row.email;
  if (!to) return void (await settle('failed', 'the recipient has no address'));
  const isLink = row.kind === 'magic_link';
  if (isLink && row.participant_status === 'withdrawn') return void (await settle('cancelled', 'the participant has withdrawn'));
  const link = isLink ? await writeLink(deps.database, id, deps.links) : {};
  if (!link) return void (await settle('sent', null));
  const { subject, text } = textOf(row.kind, { study: row.study_code, participant: row.participant_code ?? '', url: deps.links.publicUrl, ...row.details, ...link });
  try {
    await provider.send({ id, to, subject, text });
  } catch (fault) {
    if (!(fault instanceof RefusedMessage)) throw fault;
    return void (await settle('failed', fault.message));
  }
  await settle('sent', null);
};
