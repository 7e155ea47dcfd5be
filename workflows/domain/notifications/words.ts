import { around, builtInWords, hasBuiltIn, primary, shortLink } from './built-in.js';
import { directionOf, isolated } from '../util/text-direction.js';
import type { ParticipantMessage, Words } from './message-words.js';

/** The kinds of message of which a study's settings may speak; those to staff keep their built-in words. */
export type ReminderMessageKind =
  ParticipantMessage | 'daily_summary' | 'override_pending' | 'trigger_override_required';

/** What each template may name of the study: its name for participants, and whom they may ask. */
const FACE = ['public_name', 'contact', 'contact_name', 'contact_email', 'contact_phone'] as const;
/** What a template may name, as {{name}} or {name}. Of the participant nothing but its code. */
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
 * The same of a message with a link to the portal, which `portal_url` names as well: without it the portal does not
 * open. To a caregiver the codes are of all whom it lets in for, the sites theirs, each once, with commas between.
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
/** A study's own words by language. */
export type Languages = Record<string, { [K in ReminderMessageKind]?: Words | undefined }>;
/** What a study's `config.notifications` says of words. */
export interface StudyWords {
  languages?: Languages | undefined;
  /** For readers in whose language there are no words. */
  default_language?: string | undefined;
}

const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}|\{([A-Za-z_][\w.]*)\}/g;

/** The names that a template uses. */
const named = (template: string): string[] =>
  [...template.matchAll(VARIABLE)].map(([, double, single]) => (double ?? single)!);

/** The names in a template that its kind of message has no value for. */
export function unknownVariables(template: string, kind: ParticipantMessage): string[] {
  const known: readonly string[] = kind === 'magic_link' ? LINK_VARIABLES : VARIABLES;
  return named(template).filter((name) => !known.includes(name));
}

const filled = (template: string, valueOf: (name: string) => string | undefined): string =>
  template.replaceAll(
    VARIABLE,
    (whole, double: string | undefined, single: string | undefined) => valueOf((double ?? single)!) ?? whole,
  );

/** `de_AT` is `de-AT`. */
const tag = (language: string): string => language.toLowerCase().replaceAll('_', '-');

/** A study's own words in a language: for the language itself, without its region, then for another region of it. */
function ownWords(kind: ParticipantMessage, language: string, languages: Languages): MatchedWords | undefined {
  const own = Object.entries(languages).flatMap(([code, kinds]) =>
    kinds[kind] ? [{ language: code, own: true, ...kinds[kind] }] : [],
  );
  const fits = (test: (code: string) => boolean) => own.find((words) => test(words.language));
  return (
    fits((code) => tag(code) === tag(language)) ??
    fits((code) => tag(code) === primary(language)) ??
    fits((code) => primary(code) === primary(language))
  );
}

/** Words, their language, and whether the study wrote them. */
export type MatchedWords = Words & { language: string; own: boolean };

/**
 * The words of a message: in the reader's language, else in the study's default language, else in English. In each
 * language the study's own words come before the built-in ones.
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
    const code = primary(wanted);
    if (hasBuiltIn(code)) return { language: code, own: false, ...builtInWords[code][kind] };
  }
  return { language: 'en', own: false, ...builtInWords.en[kind] };
}

const speech = (language: string) => {
  const code = primary(language);
  return around[hasBuiltIn(code) ? code : 'en'];
};
/** The words below a mail that say where such mails are ended. */
export const footer = (language: string, url: string): string => speech(language).end.replace('%', () => url);
/** What the button of a mail with a link says. */
export const openWord = (language: string): string => speech(language).open;

/** Built-in words say at their end whom to ask, where the study names somebody; a study's own say what they like. */
export const withSignature = (words: MatchedWords, { contact }: { contact: string }): MatchedWords =>
  words.own || contact === ''
    ? words
    : { ...words, body: `${words.body}\n\n${speech(words.language).questions.replace('%', '{{contact}}')}` };

/**
 * The words of a message with a link to the portal. A study's own that do not name the link have it below them; the
 * built-in ones of a text message are short.
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

/** A mark behind an address would become a part of it. */
const ADDRESSES = new Set(['link', 'portal_url', 'new_link_url', 'unsubscribe_url', 'contact_email']);

/** A message as a person reads it. A value of another direction than the message's language keeps to its place. */
export function compose(words: Words & { language?: string }, values: Readonly<Record<string, string>>): Words {
  const direction = directionOf(words.language ?? 'en');
  const valueOf = (name: string): string | undefined => {
    const value = values[name];
    return value === undefined || ADDRESSES.has(name) ? value : isolated(value, direction);
  };
  return {
    subject: filled(words.subject, valueOf).replaceAll(/\s+/g, ' ').trim(),
    body: filled(words.body, valueOf),
  };
}
