import { builtInLanguage, builtInWords, hasBuiltIn, messageFrame, primaryLanguage, shortLink } from './built-in.js';
import { languageTag } from '../util/language.js';
import { directionOf, isolated } from '../util/text-direction.js';
import type { ParticipantMessage, MessageWords } from './message-words.js';

/** The kinds of message that a study's settings may reword; those to staff keep their built-in texts. */
export type ReminderMessageKind =
  ParticipantMessage | 'daily_summary' | 'override_pending' | 'trigger_override_required';

/** The study's variables in each template: its public name and contact. */
const FACE = ['public_name', 'contact', 'contact_name', 'contact_email', 'contact_phone'] as const;
/** The variables of a template, as {{name}} or {name}. Of the participant only its code. */
export const VARIABLES = [
  ...FACE,
  'participant_code',
  'study_code',
  'study_name',
  'site_code',
  'site_name',
  'visit_name',
  'target_date',
  'window_open',
  'window_close',
  'days_before',
  'days_left',
  'portal_url',
  'unsubscribe_url',
] as const;
export type Values = Record<(typeof VARIABLES)[number], string>;
/**
 * The same for a message with a portal link, plus `portal_url`: without it the portal can't be opened. For a caregiver
 * the codes and sites are those of all its participants, without duplicates, separated by commas.
 */
export const LINK_VARIABLES = [
  ...FACE,
  'participant_code',
  'study_code',
  'study_name',
  'site_code',
  'site_name',
  'link',
  'portal_url',
  'new_link_url',
  'minutes',
] as const;
export type LinkValues = Record<(typeof LINK_VARIABLES)[number], string>;
/** A study's own texts by language. */
export type Languages = Record<string, { [K in ReminderMessageKind]?: MessageWords | undefined }>;
/** The texts in a study's `config.notifications`. */
export interface StudyWords {
  languages?: Languages | undefined;
  /** For readers without texts in their language. */
  default_language?: string | undefined;
}

const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}|\{([A-Za-z_][\w.]*)\}/g;

/** The variables that a template uses. */
const named = (template: string): string[] =>
  [...template.matchAll(VARIABLE)].map(([, double, single]) => (double ?? single)!);

/** The variables of a template that its kind of message does not have. */
export function unknownVariables(template: string, kind: ParticipantMessage): string[] {
  const known: readonly string[] = kind === 'magic_link' ? LINK_VARIABLES : VARIABLES;
  return named(template).filter((name) => !known.includes(name));
}

const filled = (template: string, valueOf: (name: string) => string | undefined): string =>
  template.replaceAll(
    VARIABLE,
    (whole, double: string | undefined, single: string | undefined) => valueOf((double ?? single)!) ?? whole,
  );

/** A study's own text in a language: for the language itself, without its region, then for another region of it. */
function ownWords(kind: ParticipantMessage, language: string, languages: Languages): MatchedWords | undefined {
  const own = Object.entries(languages).flatMap(([code, kinds]) =>
    kinds[kind] ? [{ language: code, own: true, ...kinds[kind] }] : [],
  );
  const fits = (test: (code: string) => boolean) => own.find((words) => test(words.language));
  return (
    fits((code) => languageTag(code) === languageTag(language)) ??
    fits((code) => languageTag(code) === primaryLanguage(language)) ??
    fits((code) => primaryLanguage(code) === primaryLanguage(language))
  );
}

/** Words, their language, and whether the study wrote them. */
export type MatchedWords = MessageWords & { language: string; own: boolean };

/**
 * The text of a message: in the reader's language, else in the study's default language, else in English. In each
 * language the study's own text has priority over the built-in one.
 */
export function wordsFor(
  kind: ParticipantMessage,
  language: string | null,
  { languages = {}, default_language }: StudyWords,
): MatchedWords {
  for (const wanted of [language, default_language, 'en']) {
    if (!wanted) continue;
    const found = ownWords(kind, wanted, languages);
    if (found) return found;
    const code = primaryLanguage(wanted);
    if (hasBuiltIn(code)) return { language: code, own: false, ...builtInWords[code][kind] };
  }
  return { language: 'en', own: false, ...builtInWords.en[kind] };
}

/** What the service adds to a study's own text is in the text's language, else in the study's, else in English. */
const speech = (language: string, default_language?: string) =>
  messageFrame[builtInLanguage(language, default_language)];
/** The footer of a mail with the opt-out link. */
export const footer = (language: string, url: string, default_language?: string): string =>
  speech(language, default_language).end.replace('%', () => url);
/** The label of a mail's button. */
export const openWord = (language: string, default_language?: string): string =>
  speech(language, default_language).open;

/** Built-in texts end with the study's contact, if any; a study's own texts stay as they are. */
export const withSignature = (words: MatchedWords, { contact }: { contact: string }): MatchedWords =>
  words.own || contact === ''
    ? words
    : { ...words, body: `${words.body}\n\n${speech(words.language).questions.replace('%', '{{contact}}')}` };

/**
 * The text of a message with a portal link. A study's own text without the link gets it appended; the built-in one of a
 * text message is short.
 */
export function linkWords(channel: string, language: string | null, study: StudyWords): MatchedWords {
  const words = wordsFor('magic_link', language, study);
  if (!words.own)
    return channel === 'sms' ? { ...words, body: shortLink[words.language as keyof typeof shortLink] } : words;
  const names = named(words.body);
  return names.includes('link') || names.includes('portal_url')
    ? words
    : { ...words, body: `${words.body}\n\n{{link}}` };
}

/** A direction mark after an address would become a part of it. Each part of a contact has its own. */
const UNMARKED = new Set(['link', 'portal_url', 'new_link_url', 'unsubscribe_url', 'contact_email', 'contact']);

/** Composes a message. Values in another text direction than the message are isolated. */
export function composeMessage(
  words: MessageWords & { language?: string },
  values: Readonly<Record<string, string>>,
): MessageWords {
  const direction = directionOf(words.language ?? 'en');
  const valueOf = (name: string): string | undefined => {
    const value = values[name];
    return value === undefined || UNMARKED.has(name) ? value : isolated(value, direction);
  };
  return {
    subject: filled(words.subject, valueOf).replaceAll(/\s+/g, ' ').trim(),
    body: filled(words.body, valueOf),
  };
}
