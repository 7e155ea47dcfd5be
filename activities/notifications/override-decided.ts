import type { OverrideDetails } from '../../db/notifications/notification-mail.queries.js';
import { primaryLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { staffMail } from './mail.js';

interface OverrideDecidedMail {
  study: string;
  /** The study's default language. */
  language: string | undefined;
  participant: string;
  override: OverrideDetails;
  /** Set if the console is enabled. */
  pages?: ConsoleLinks | undefined;
}

/** `withdrawn`: the participant withdrew before anybody decided. */
type Outcome = 'approved' | 'denied' | 'expired' | 'withdrawn';

interface Words {
  subject: Record<Outcome, string>;
  moved: (from: string, to: string) => string;
  stays: (from: string, to: string) => string;
  how: Record<Outcome, (by: string) => string>;
  of: (participant: string, study: string) => string;
  asked: (reason: string) => string;
  decided: (reason: string) => string;
  page: string;
  button: string;
  noPage: (request: string) => string;
}

const en: Words = {
  subject: {
    approved: 'Approved: enrollment date change',
    denied: 'Denied: enrollment date change',
    expired: 'Expired: enrollment date change',
    withdrawn: 'Denied: enrollment date change',
  },
  moved: (from, to) => `The enrollment date has moved from ${from} to ${to}, as you asked.`,
  stays: (from, to) => `The enrollment date stays ${from}. You asked for ${to}.`,
  how: {
    approved: (by) => `Approved by ${by}.`,
    denied: (by) => `Denied by ${by}.`,
    expired: () => 'Nobody decided your request in time. You can ask again.',
    withdrawn: () => 'Nobody had decided your request when the participant withdrew.',
  },
  of: (participant, study) => `Participant ${participant} of study ${study}.`,
  asked: (reason) => `Your reason: ${reason}`,
  decided: (reason) => `Reason of the decision: ${reason}`,
  page: 'The request is on this page. You log in first.',
  button: 'Open the request',
  noPage: (request) => `The request is ${request}.`,
};

const de: Words = {
  subject: {
    approved: 'Freigegeben: Änderung des Einschlussdatums',
    denied: 'Abgelehnt: Änderung des Einschlussdatums',
    expired: 'Abgelaufen: Änderung des Einschlussdatums',
    withdrawn: 'Abgelehnt: Änderung des Einschlussdatums',
  },
  moved: (from, to) => `Das Einschlussdatum ist wie beantragt vom ${from} auf den ${to} verschoben.`,
  stays: (from, to) => `Es bleibt beim Einschlussdatum ${from}. Beantragt war der ${to}.`,
  how: {
    approved: (by) => `Freigegeben von ${by}.`,
    denied: (by) => `Abgelehnt von ${by}.`,
    expired: () => 'Über Ihren Antrag wurde nicht rechtzeitig entschieden. Sie können ihn neu stellen.',
    withdrawn: () => 'Über Ihren Antrag war noch nicht entschieden, als die Person sich zurückzog.',
  },
  of: (participant, study) => `Person ${participant} der Studie ${study}.`,
  asked: (reason) => `Ihre Begründung: ${reason}`,
  decided: (reason) => `Begründung der Entscheidung: ${reason}`,
  page: 'Der Antrag steht auf dieser Seite. Sie melden sich dort zuerst an.',
  button: 'Antrag öffnen',
  noPage: (request) => `Der Antrag ist ${request}.`,
};

function outcomeOf({ status, decided_by, decision_reason }: OverrideDetails): Outcome {
  if (status === 'approved') return 'approved';
  if (decided_by !== null) return 'denied';
  return decision_reason === 'withdrawn' ? 'withdrawn' : 'expired';
}

/**
 * The mail on a request's outcome to the user who asked for it, as text and as HTML, in the study's default language;
 * English where it has no words. Codes, dates and reasons, never a participant's name.
 */
export function overrideDecidedMail({ study, language, participant, override, pages }: OverrideDecidedMail): {
  subject: string;
  text: string;
  html: string;
} {
  const german = primaryLanguage(language ?? '') === 'de';
  const words = german ? de : en;
  const { previous, wanted, reason, decided_by, decision_reason, override_request_id: request } = override;
  const outcome = outcomeOf(override);
  const page = pages?.approval(request);
  const subject = `[${isolated(study)}] ${words.subject[outcome]}`;
  const text = [
    words.of(isolated(participant), isolated(study)),
    outcome === 'approved' ? words.moved(previous, wanted) : words.stays(previous, wanted),
    [
      words.how[outcome](isolated(decided_by ?? '')),
      ...(decided_by !== null && decision_reason !== null ? [words.decided(isolated(decision_reason))] : []),
      ...(reason === null ? [] : [words.asked(isolated(reason))]),
    ].join('\n'),
    ...(page === undefined ? [words.noPage(request)] : [words.page, page]),
  ].join('\n\n');
  const button = page === undefined ? undefined : { url: page, says: words.button };
  return staffMail({ language: german ? 'de' : 'en', subject, text, button });
}
