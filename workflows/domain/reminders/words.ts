/** The kinds of message that a study may word itself. */
export const WORDED = ['visit_reminder', 'visit_missed'] as const;
export type Worded = (typeof WORDED)[number];

/** What a template may name, as {{name}} or {name}. Of the participant nothing but its code. */
export const VARIABLES = [
  'participant_code', 'study_code', 'study_name', 'site_code', 'site_name', 'visit_name', 'target_date', 'window_open', 'window_close', 'days_before', 'days_left', 'portal_url', 'unsubscribe_url',
] as const;
export type Values = Record<(typeof VARIABLES)[number], string>;
export interface Words { subject: string; body: string }
/** A study's own words by language. */
export type Languages = Record<string, { [K in Worded]?: Words | undefined }>;

const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}|\{([A-Za-z_][\w.]*)\}/g;

/** The names in a template that no message has a value for. */
export const unknownVariables = (template: string): string[] =>
  [...template.matchAll(VARIABLE)].map(([, double, single]) => (double ?? single)!).filter((name) => !(VARIABLES as readonly string[]).includes(name));

const filled = (template: string, values: Values): string =>
  template.replaceAll(VARIABLE, (whole, double: string | undefined, single: string | undefined) => (values as Record<string, string>)[(double ?? single)!] ?? whole);

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
export const footer = (language: string, url: string): string => (footers[primary(language)] ?? footers.en!).replace('%', () => url);

const primary = (language: string): string => language.split('-')[0]!.toLowerCase();

/**
 * The words of a message in a participant's language. A study's own go before the built-in ones; in each the language
 * itself, then without its region, then English, then whatever the study has.
 */
export function wordsFor(kind: Worded, language: string | null, languages: Languages): Words & { language: string } {
  const own = new Map(Object.entries(languages).filter(([, kinds]) => kinds[kind]).map(([code, kinds]) => [code.toLowerCase(), { language: code, ...kinds[kind]! }]));
  const wanted = language?.toLowerCase() ?? 'en';
  const found = own.get(wanted) ?? own.get(primary(wanted)) ?? own.get('en') ?? [...own.values()][0];
  if (found) return found;
  const code = primary(wanted) in builtIn ? primary(wanted) : 'en';
  return { language: code, ...builtIn[code]![kind] };
}

/** A message as a person reads it. */
export const compose = (words: Words, values: Values): Words => ({ subject: filled(words.subject, values).replaceAll(/\s+/g, ' ').trim(), body: filled(words.body, values) });
