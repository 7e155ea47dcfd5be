import type { OverrideDetails } from '../../db/notifications/notification-mail.queries.js';
import { primaryLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { staffMail } from './mail.js';

/** The texts of messages to staff. Codes and dates, never a participant's name. */
export type NotificationKind = 'override_pending' | 'trigger_override_required';

/** The facts of an override request. Instants are formatted for people, in UTC. */
export interface StaffMessage {
  study: string;
  /** The study's default language. */
  language: string | undefined;
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

interface Words {
  pending: {
    subject: string;
    what: (of: { participant: string; study: string; from: string; to: string; moved: number }) => string;
    asked: (by: string, reason: string | undefined) => string;
    page: string;
    noPage: (request: string) => string;
    noVisit: string;
    visits: string;
    more: (n: number) => string;
    until: (expires: string) => string;
    button: string;
  };
  differs: {
    subject: string;
    what: (study: string, participant: string) => string;
    next: string;
    button: string;
  };
}

const en: Words = {
  pending: {
    subject: 'Approval required: enrollment date change',
    what: ({ participant, study, from, to, moved }) =>
      `Participant ${participant} of study ${study}: the enrollment date is to move from ${from} to ${to} ` +
      `(${Math.abs(moved)} ${Math.abs(moved) === 1 ? 'day' : 'days'} ${moved < 0 ? 'earlier' : 'later'}).`,
    asked: (by, reason) => `Asked by ${by}.\nReason: ${reason ?? 'none was given'}`,
    page: 'Approve or deny it on this page. You log in first.',
    noPage: (request) => `The request is ${request}. It is among your approvals in the program that you work with.`,
    noVisit: 'No visit moves.',
    visits: 'Visits that move:',
    more: (n) => `… and ${n} more`,
    until: (expires) => `Without a decision it is denied on ${expires}.`,
    button: 'Review the request',
  },
  differs: {
    subject: 'The capture system has another enrollment date',
    what: (study, participant) =>
      `In study ${study}, participant ${participant}: the capture system now holds another enrollment date, but ` +
      'the date is final.',
    next: 'Nothing has moved; a change needs an override.',
    button: 'Open the inbox',
  },
};

const de: Words = {
  pending: {
    subject: 'Freigabe nötig: Änderung des Einschlussdatums',
    what: ({ participant, study, from, to, moved }) =>
      `Person ${participant} der Studie ${study}: Das Einschlussdatum soll vom ${from} auf den ${to} verschoben ` +
      `werden (${Math.abs(moved)} ${Math.abs(moved) === 1 ? 'Tag' : 'Tage'} ${moved < 0 ? 'früher' : 'später'}).`,
    asked: (by, reason) => `Beantragt von ${by}.\nBegründung: ${reason ?? 'keine angegeben'}`,
    page: 'Auf dieser Seite geben Sie die Änderung frei oder lehnen sie ab. Sie melden sich dort zuerst an.',
    noPage: (request) =>
      `Der Antrag ist ${request}. Er steht unter den Freigaben in dem Programm, mit dem Sie arbeiten.`,
    noVisit: 'Keine Visite verschiebt sich.',
    visits: 'Visiten, die sich verschieben:',
    more: (n) => `… und ${n} weitere`,
    until: (expires) => `Ohne Entscheidung wird der Antrag am ${expires} abgelehnt.`,
    button: 'Antrag prüfen',
  },
  differs: {
    subject: 'Das Datenerfassungssystem hat ein anderes Einschlussdatum',
    what: (study, participant) =>
      `In der Studie ${study}, Person ${participant}: Das Datenerfassungssystem enthält jetzt ein anderes ` +
      'Einschlussdatum; das Datum hier ist aber endgültig.',
    next: 'Nichts hat sich verschoben; eine Änderung ist zu beantragen.',
    button: 'Eingang öffnen',
  },
};

/** More visits than these are counted, not listed. */
const MAX_LISTED = 20;

const daysBetween = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);

function pending({ study, participant, override, pages }: StaffMessage, { pending: words }: Words): MessageText {
  const of = override!;
  const listed = of.moving.slice(0, MAX_LISTED).map(({ name, from, to }) => `${isolated(name)}: ${from} → ${to}`);
  const more = of.moving.length - listed.length;
  const moved = daysBetween(of.previous, of.wanted);
  const page = pages?.approval(of.override_request_id);
  return {
    subject: words.subject,
    text: [
      words.what({ participant, study, from: of.previous, to: of.wanted, moved }),
      words.asked(isolated(of.asked_by), of.reason === null ? undefined : isolated(of.reason)),
      // Before the list, which may be long: the link is seen at once. Its paragraph becomes the button.
      ...(page === undefined ? [words.noPage(of.override_request_id)] : [words.page, page]),
      of.moving.length === 0
        ? words.noVisit
        : [words.visits, ...listed, ...(more > 0 ? [words.more(more)] : [])].join('\n'),
      words.until(of.expires),
    ].join('\n\n'),
    ...(page !== undefined && { button: { url: page, says: words.button } }),
  };
}

function differs({ study, participant, pages }: StaffMessage, { differs: words }: Words): MessageText {
  const page = pages?.inboxOf({ kind: 'override_required' });
  return {
    subject: words.subject,
    text: [words.what(study, participant), words.next, ...(page === undefined ? [] : [page])].join('\n\n'),
    ...(page !== undefined && { button: { url: page, says: words.button } }),
  };
}

const texts: Record<NotificationKind, (message: StaffMessage, words: Words) => MessageText> = {
  override_pending: pending,
  trigger_override_required: differs,
};

/**
 * A message as text and as HTML, in the study's default language; English where it has no words. @throws Error for an
 * unknown kind
 */
export function staffMessageText(
  kind: NotificationKind,
  message: StaffMessage,
): { subject: string; text: string; html: string } {
  const write = texts[kind];
  if (!write) throw new Error(`no words for notifications of kind ${String(kind)}`);
  const german = primaryLanguage(message.language ?? '') === 'de';
  const [study, participant] = [isolated(message.study), isolated(message.participant)];
  const { subject, text, button } = write({ ...message, study, participant }, german ? de : en);
  return staffMail({ language: german ? 'de' : 'en', subject: `[${study}] ${subject}`, text, button });
}
