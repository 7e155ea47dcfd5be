import type { OverrideDetails } from '../../db/notifications/notification-mail.queries.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { staffMail } from './mail.js';

/** The texts of messages to staff. Codes and dates, never a participant's name. */
export type NotificationKind = 'override_pending' | 'trigger_override_required';

/** The facts of an override request. Instants are formatted for people, in UTC. */
export interface StaffMessage {
  study: string;
  participant: string;
  override: OverrideDetails | null;
  /** Set if the console is enabled. */
  pages?: ConsoleLinks | undefined;
}

interface MessageText {
  subject: string;
  text: string;
  /** The link to the next step. */
  button?: { url: string; says: string };
}

/** More visits than these are counted, not listed. */
const MAX_LISTED = 20;

const days = (from: string, to: string): string => {
  const moved = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
  return `${Math.abs(moved)} ${Math.abs(moved) === 1 ? 'day' : 'days'} ${moved < 0 ? 'earlier' : 'later'}`;
};

function pending({ study, participant, override, pages }: StaffMessage): MessageText {
  const of = override!;
  const listed = of.moving.slice(0, MAX_LISTED).map(({ name, from, to }) => `${isolated(name)}: ${from} → ${to}`);
  const more = of.moving.length - listed.length;
  return {
    subject: `[${study}] Approval required: enrollment date change`,
    text: [
      `Participant ${participant} of study ${study}: the enrollment date is to move from ${of.previous} to ` +
        `${of.wanted} (${days(of.previous, of.wanted)}).`,
      `Asked by ${isolated(of.asked_by)}.\nReason: ${isolated(of.reason ?? 'none was given')}`,
      // Before the list, which may be long: the link is seen at once. Its paragraph becomes the button.
      ...(pages
        ? ['Approve or deny it on this page. You log in first.', pages.approval(of.override_request_id)]
        : [`The request is ${of.override_request_id}. It is among your approvals in the program that you work with.`]),
      of.moving.length === 0
        ? 'No visit moves.'
        : ['Visits that move:', ...listed, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n'),
      `Without a decision it is denied on ${of.expires}.`,
    ].join('\n\n'),
    ...(pages && { button: { url: pages.approval(of.override_request_id), says: 'Review the request' } }),
  };
}

const texts: Record<NotificationKind, (message: StaffMessage) => MessageText> = {
  override_pending: pending,
  trigger_override_required: ({ study, participant, pages }) => ({
    subject: `[${study}] The capture system has another enrollment date`,
    text:
      `In study ${study}, participant ${participant}: the capture system now holds another enrollment date, but ` +
      `the date is final.\n\nNothing has moved; a change needs an ` +
      `override.${pages ? `\n\n${pages.inboxOf({ kind: 'override_required' })}` : ''}`,
    ...(pages && { button: { url: pages.inboxOf({ kind: 'override_required' }), says: 'Open the inbox' } }),
  }),
};

/** A message as text and as HTML. @throws Error for an unknown kind */
export function staffMessageText(
  kind: NotificationKind,
  message: StaffMessage,
): { subject: string; text: string; html: string } {
  const words = texts[kind];
  if (!words) throw new Error(`no words for notifications of kind ${String(kind)}`);
  const { study, participant } = message;
  const { subject, text, button } = words({ ...message, study: isolated(study), participant: isolated(participant) });
  return staffMail({ language: 'en', subject, text, button });
}
