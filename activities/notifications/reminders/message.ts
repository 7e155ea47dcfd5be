import { signedToken } from '../../../db/notifications/signed-links.js';
import type { ReminderRow } from '../../../db/notifications/reminders.queries.js';
import { calendarFile } from '../../../workflows/domain/scheduling/calendar-file.js';
import type { NotificationSettings } from '../../../workflows/domain/notifications/settings.js';
import { placeholderValues } from '../../../workflows/domain/notifications/values.js';
import { composeMessage, footer, withSignature, wordsFor } from '../../../workflows/domain/notifications/words.js';
import { visitTitle } from '../../../workflows/domain/scheduling/visit-title.js';
import { textMail } from '../mail.js';
import type { Message } from '../provider.js';

export interface MessageSettings {
  publicUrl: string;
  secret: string | undefined;
}

/** The URL by which a participant ends a channel's messages, with one click and without login. */
export function unsubscribeUrl({ publicUrl, secret }: MessageSettings, participantId: string, channel: string): string {
  if (!secret)
    throw Object.assign(new Error('SESSION_SECRET is not set: links in messages cannot be signed.'), {
      code: 'SESSION_SECRET_MISSING',
    });
  const token = signedToken(secret, 'unsubscribe', `${participantId}.${channel}`);
  return `${publicUrl.replace(/\/+$/, '')}/api/notifications/unsubscribe?token=${token}`;
}

/**
 * The idempotency key of a message. It is the same for each attempt at one target date, from any row: a message whose
 * answer was lost may have arrived. Another target date is another message; so is one resent by hand.
 */
const keyOf = ({ id, resend_of, first_id, target_date, visit }: ReminderRow): string =>
  resend_of !== null ? id : `${first_id}.${target_date ?? visit?.target_date}`;

/** The message of a reminder for its channel, in the participant's language. The sender sets `to`. */
export function reminderMessage(row: ReminderRow, settings: MessageSettings, now: string): Omit<Message, 'to'> {
  const study = row.settings as NotificationSettings;
  const words = wordsFor(row.kind, row.preferred_language, study);
  const values = placeholderValues(
    row,
    {
      portal_url: `${settings.publicUrl.replace(/\/+$/, '')}/portal`,
      unsubscribe_url: unsubscribeUrl(settings, row.participant_id, row.channel),
    },
    now,
    words.language,
  );
  const { subject, body } = composeMessage(row.channel === 'email' ? withSignature(words, values) : words, values);
  const message = { id: row.id, key: keyOf(row), subject, text: body };
  if (row.channel !== 'email')
    return row.channel === 'sms' ? { ...message, reportUrl: reportUrl(settings, row.id) } : message;
  const foot = footer(words.language, values.unsubscribe_url, study.default_language);
  return {
    ...message,
    text: `${body}\n\n-- \n${foot}\n`,
    html: textMail({ language: words.language, title: subject, text: body, foot }),
    unsubscribeUrl: values.unsubscribe_url,
    reportToken: reportToken(settings, row.id),
    ...(row.kind === 'visit_reminder' && { calendar: calendarOf(row, now) }),
  };
}

const reportToken = ({ secret }: Pick<MessageSettings, 'secret'>, notificationId: string): string =>
  signedToken(secret ?? '', 'delivery-report', notificationId);

export const reportUrl = ({ publicUrl, secret }: MessageSettings, notificationId: string): string =>
  `${publicUrl.replace(/\/+$/, '')}/api/notifications/${notificationId}/delivery-report` +
  `?token=${reportToken({ secret }, notificationId)}`;

/** The visit for the participant's calendar. A later message has later changes. */
const calendarOf = ({ visit_key, visit }: ReminderRow, now: string): string =>
  calendarFile([
    {
      visit_key,
      name: visitTitle(visit!.name),
      target_date: visit!.target_date,
      updated_at: now,
      cancelled: false,
      description: `${visit!.window_open} – ${visit!.window_close}`,
      sequence: visit!.sequence ?? 0,
    },
  ]);
