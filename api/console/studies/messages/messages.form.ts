import { CHANNELS } from '../../../../workflows/domain/notifications/settings.js';
import type { NotificationSettings } from '../../../../workflows/domain/notifications/settings.js';
import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import { problemOf } from '../../../http/errors.js';
import type { Problem } from '../../../http/errors.js';
import { editOf, orNull, seenIn, typedValue, wholeNumber } from '../edit/edit.js';
import type { Edit, RefusedForm, Texts } from '../edit/edit.js';

/** Messages that a study can reword. */
export const messageKinds = ['visit_reminder', 'visit_missed', 'magic_link'] as const;
type Kind = (typeof messageKinds)[number];
export const channels = CHANNELS;

interface Contact {
  name?: string;
  email?: string;
  phone?: string;
}
const settingsOf = (study: StudyRecord): NotificationSettings =>
  (study.config.notifications ?? {}) as NotificationSettings;

/** The study's own texts, by message and language. */
export const templatesOf = (study: StudyRecord): { language: string; kind: Kind; subject: string; body: string }[] =>
  Object.entries(settingsOf(study).languages ?? {}).flatMap(([language, own]) =>
    messageKinds.flatMap((kind) => (own[kind] ? [{ language, kind, ...own[kind] }] : [])),
  );

/** The study's public names: one for all languages (''), or one for each. */
export function namesOf({ config: { public_name: name } }: StudyRecord): { language: string; name: string }[] {
  if (typeof name === 'object' && name !== null)
    return Object.entries(name as Record<string, string>).map(([language, text]) => ({ language, name: text }));
  return [{ language: '', name: typeof name === 'string' ? name : '' }];
}

/**
 * Fields are named by what they hold, not by their place: a text that somebody else adds or removes meanwhile must not
 * put a typed text into another language.
 */
export const nameField = (language: string): string => (language === '' ? 'public_name' : `public_name.${language}`);
export const textField = (language: string, kind: string, part: 'subject' | 'body'): string =>
  `template.${language}.${kind}.${part}`;
const TEXT_FIELD = /^template\.(.+)\.(\w+)\.(subject|body)$/;
/** Language, message and part of a text's field; undefined for other fields. */
export function textOfField(name: string): { language: string; kind: Kind; part: 'subject' | 'body' } | undefined {
  const [, language, kind, part] = TEXT_FIELD.exec(name) ?? [];
  const known = messageKinds.find((one) => one === kind);
  return language !== undefined && known ? { language, kind: known, part: part as 'subject' | 'body' } : undefined;
}

/** A study's message settings as texts. */
export function messageTexts(study: StudyRecord): Texts {
  const { channels: used = ['email'], fallback = [], days_before = [1], ...given } = settingsOf(study);
  const contact = (study.config.contact ?? {}) as Contact;
  const templates = templatesOf(study).map(({ language, kind, subject, body }) => [
    [textField(language, kind, 'subject'), subject],
    [textField(language, kind, 'body'), body],
  ]);
  return {
    channels: [...used].sort().join(','),
    fallback_1: fallback[0] ?? '',
    fallback_2: fallback[1] ?? '',
    days_before: days_before.join(', '),
    send_at: given.send_at ?? '',
    quiet_from: given.quiet_hours?.from ?? '',
    quiet_to: given.quiet_hours?.to ?? '',
    default_language: given.default_language ?? '',
    ...Object.fromEntries(namesOf(study).map(({ language, name }) => [nameField(language), name])),
    name_language: '',
    name_text: '',
    contact_name: contact.name ?? '',
    contact_email: contact.email ?? '',
    contact_phone: contact.phone ?? '',
    portal_results: (study.config.portal_results as string | undefined) ?? 'none',
    ...Object.fromEntries(templates.flat() as [string, string][]),
    new_language: '',
    new_kind: 'visit_reminder',
    new_subject: '',
    new_body: '',
  };
}

/** The form of a study's messages; a setting's error is shown at its field. */
export function messageEdit(study: StudyRecord, sent?: RefusedForm): Edit {
  const edit = editOf(study, messageTexts(study), sent && { ...sent, fault: atFields(study, sent) });
  return sent ? { ...edit, values: withRemoved(edit.values, sent.form) } : edit;
}

/** A text that was typed while somebody else removed its field is offered as one to add. */
function withRemoved(values: Texts, form: URLSearchParams): Texts {
  const seen = seenIn(form) ?? {};
  const isLost = (name: string) => !Object.hasOwn(values, name) && typedValue(form, name) !== (seen[name] ?? '');
  const lost = [...form.keys()].find((name) => textOfField(name) !== undefined && isLost(name));
  if (lost === undefined || values.new_subject !== '' || values.new_body !== '') return values;
  const { language, kind } = textOfField(lost)!;
  const said = (part: 'subject' | 'body') => typedValue(form, textField(language, kind, part));
  return { ...values, new_language: language, new_kind: kind, new_subject: said('subject'), new_body: said('body') };
}

const PREFIX = 'config.notifications.';
const FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^days_before/, 'days_before'],
  [/^quiet_hours\.from/, 'quiet_from'],
  [/^quiet_hours/, 'quiet_to'],
  [/^fallback\.0/, 'fallback_1'],
  [/^fallback/, 'fallback_2'],
  [/^channels/, 'channels'],
];
function atFields(study: StudyRecord, { form, fault }: RefusedForm): Problem {
  const templates = templatesOf(study);
  const errors = fault.options.errors?.map((entry) => {
    const path = entry.path?.replace(/^body\./, '');
    if (path === undefined) return entry;
    const contact = /^config\.contact\.(name|email|phone)$/.exec(path);
    if (contact) return { ...entry, path: `contact_${contact[1]}` };
    if (path.startsWith('config.public_name')) return { ...entry, path: fieldOfName(path, study, form) };
    if (!path.startsWith(PREFIX)) return { ...entry, path: path.replace(/^config\./, '') };
    const inside = path.slice(PREFIX.length);
    const [, language, kind, part] = /^languages\.([^.]+)(?:\.(\w+)\.(subject|body))?$/.exec(inside) ?? [];
    const own = templates.find((one) => one.language === language && one.kind === kind);
    if (own) return { ...entry, path: textField(own.language, own.kind, part === 'body' ? 'body' : 'subject') };
    if (language !== undefined)
      return { ...entry, path: language === form.get('new_language') && part ? `new_${part}` : 'new_language' };
    return { ...entry, path: FIELDS.find(([pattern]) => pattern.test(inside))?.[1] ?? inside };
  });
  return errors ? problemOf(fault.status, fault.code, fault.message, { ...fault.options, errors }) : fault;
}

/** The field of a public name that was refused. */
function fieldOfName(path: string, study: StudyRecord, form: URLSearchParams): string {
  const language = path.slice('config.public_name.'.length);
  const names = namesOf(study);
  if (names.some((one) => one.language === language)) return nameField(language);
  return typedValue(form, 'name_text').trim() === '' ? nameField(names[0]?.language ?? '') : 'name_language';
}

/** The study's public name as typed: a text, or texts by language; null: none. */
function publicNameIn(form: URLSearchParams, study: StudyRecord): unknown {
  const said = (name: string) => typedValue(form, name).trim();
  const names = namesOf(study).map(({ language }) => [language, said(nameField(language))] as const);
  const added = said('name_text') === '' ? [] : [[said('name_language'), said('name_text')] as const];
  const [first] = names;
  if (added.length === 0 && first?.[0] === '') return orNull(first[1], first[1]);
  // A merge: null removes a language. Names by language replace a name for all languages.
  const all = [...names.filter(([language]) => language !== ''), ...added];
  const isNone = all.every(([, name]) => name === '');
  return isNone ? null : Object.fromEntries(all.map(([language, name]) => [language, orNull(name, name)]));
}

/** The form's changes of the study's configuration, as a merge: null removes a setting. */
export function messagesIn(form: URLSearchParams, study: StudyRecord): Record<string, unknown> {
  const said = (name: string) => typedValue(form, name).trim();
  const some = (name: string) => orNull(said(name), said(name));
  const days = said('days_before')
    .split(/[\s,;]+/)
    .filter((day) => day !== '');
  const quiet = said('quiet_from') !== '' || said('quiet_to') !== '';
  const languages: Record<string, Record<string, unknown>> = {};
  const write = (language: string, kind: string, subject: string, body: string) => {
    (languages[language] ??= {})[kind] = subject === '' && body === '' ? null : { subject, body };
  };
  for (const { language, kind } of templatesOf(study))
    write(language, kind, said(textField(language, kind, 'subject')), said(textField(language, kind, 'body')));
  if (said('new_subject') !== '' || said('new_body') !== '')
    write(said('new_language'), said('new_kind'), said('new_subject'), said('new_body'));
  const contact = { name: some('contact_name'), email: some('contact_email'), phone: some('contact_phone') };
  return {
    notifications: {
      channels: form.getAll('channels'),
      fallback: ['fallback_1', 'fallback_2'].map(said).filter((channel) => channel !== ''),
      days_before: days.map(wholeNumber),
      send_at: some('send_at'),
      quiet_hours: quiet ? { from: said('quiet_from'), to: said('quiet_to') } : null,
      default_language: some('default_language'),
      ...(Object.keys(languages).length > 0 && { languages }),
    },
    public_name: publicNameIn(form, study),
    contact: Object.values(contact).every((value) => value === null) ? null : contact,
    portal_results: said('portal_results'),
  };
}
