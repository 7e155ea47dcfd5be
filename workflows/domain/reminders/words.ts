/** The kinds of message about a visit, which a study may word itself, as it may that of a link to the portal. */
export const WORDED = ['visit_reminder', 'visit_missed'] as const;
export type Worded = (typeof WORDED)[number];
/** The kinds of message of which a study's settings may speak; those to staff keep their built-in words. */
export type MessageKind = Worded | 'magic_link' | 'daily_summary' | 'override_pending' | 'trigger_override_required';

/** What a template may name, as {{name}} or {name}. Of the participant nothing but its code. */
export const VARIABLES = [
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
  'participant_code',
  'study_code',
  'study_name',
  'site_code',
  'site_name',
  'link',
  'portal_url',
  'minutes',
] as const;
export type LinkValues = Record<(typeof LINK_VARIABLES)[number], string>;
export interface Words {
  subject: string;
  body: string;
}
/** A study's own words by language. */
export type Languages = Record<string, { [K in MessageKind]?: Words | undefined }>;

const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}|\{([A-Za-z_][\w.]*)\}/g;

/** The names that a template uses. */
const named = (template: string): string[] =>
  [...template.matchAll(VARIABLE)].map(([, double, single]) => (double ?? single)!);

/** The names in a template that its kind of message has no value for. */
export function unknownVariables(template: string, kind: Worded | 'magic_link'): string[] {
  const known: readonly string[] = kind === 'magic_link' ? LINK_VARIABLES : VARIABLES;
  return named(template).filter((name) => !known.includes(name));
}

const filled = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(
    VARIABLE,
    (whole, double: string | undefined, single: string | undefined) => values[(double ?? single)!] ?? whole,
  );

const builtIn: Record<string, Record<Worded, Words>> = {
  en: {
    visit_reminder: {
      subject: 'Reminder: {{visit_name}} on {{target_date}}',
      body: 'Hello,\n\nyour visit “{{visit_name}}” in the study {{study_name}} is planned for {{target_date}}. It can be done from {{window_open}} to {{window_close}}.\n\nThank you for taking part.',
    },
    visit_missed: {
      subject: 'Missed: {{visit_name}}',
      body: 'Hello,\n\nyour visit “{{visit_name}}” in the study {{study_name}} could be done until {{window_close}} and was not. Please contact the study team if you have questions.\n\nThank you for taking part.',
    },
  },
  de: {
    visit_reminder: {
      subject: 'Erinnerung: {{visit_name}} am {{target_date}}',
      body: 'Guten Tag,\n\nIhr Termin „{{visit_name}}“ in der Studie {{study_name}} ist für den {{target_date}} geplant. Er ist vom {{window_open}} bis zum {{window_close}} möglich.\n\nDanke, dass Sie teilnehmen.',
    },
    visit_missed: {
      subject: 'Versäumt: {{visit_name}}',
      body: 'Guten Tag,\n\nIhr Termin „{{visit_name}}“ in der Studie {{study_name}} war bis zum {{window_close}} möglich und wurde nicht wahrgenommen. Bei Fragen wenden Sie sich bitte an das Studienteam.\n\nDanke, dass Sie teilnehmen.',
    },
  },
};

/** The words below a mail; `%` stands for the address where messages are ended. */
const footers: Record<string, string> = { en: 'No more of these mails: %', de: 'Keine weiteren Mails dieser Art: %' };
export const footer = (language: string, url: string): string =>
  (footers[primary(language)] ?? footers.en!).replace('%', () => url);

/** `de_AT` is `de-AT`. */
const tag = (language: string): string => language.toLowerCase().replaceAll('_', '-');
const primary = (language: string): string => tag(language).split('-')[0]!;

/**
 * A study's own words in a participant's language: the language itself, then without its region, then English, then
 * whatever the study has; undefined: it has none.
 */
function ownWords(
  kind: MessageKind,
  language: string | null,
  languages: Languages,
): (Words & { language: string }) | undefined {
  const own = new Map(
    Object.entries(languages)
      .filter(([, kinds]) => kinds[kind])
      .map(([code, kinds]) => [tag(code), { language: code, ...kinds[kind]! }]),
  );
  const wanted = language ?? 'en';
  return own.get(tag(wanted)) ?? own.get(primary(wanted)) ?? own.get('en') ?? [...own.values()][0];
}

/**
 * The words of a message about a visit: the study's own, else the built-in ones, in the participant's language or
 * English.
 */
export function wordsFor(kind: Worded, language: string | null, languages: Languages): Words & { language: string } {
  const found = ownWords(kind, language, languages);
  if (found) return found;
  const wanted = primary(language ?? 'en');
  const code = wanted in builtIn ? wanted : 'en';
  return { language: code, ...builtIn[code]![kind] };
}

/**
 * A message with a link in the study's own words; where they do not name the link it stands below them. Undefined: the
 * study has none.
 */
export function linkMessage(language: string | null, languages: Languages, values: LinkValues): Words | undefined {
  const words = ownWords('magic_link', language, languages);
  if (!words) return undefined;
  const names = named(words.body);
  return compose(
    names.includes('link') || names.includes('portal_url') ? words : { ...words, body: `${words.body}\n\n{{link}}` },
    values,
  );
}

/** A message as a person reads it. */
export const compose = (words: Words, values: Readonly<Record<string, string>>): Words => ({
  subject: filled(words.subject, values).replaceAll(/\s+/g, ' ').trim(),
  body: filled(words.body, values),
});
