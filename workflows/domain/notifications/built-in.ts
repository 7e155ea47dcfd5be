import { languageTag } from '../util/language.js';
import type { ParticipantMessage } from './message-words.js';
import type { MessageWords } from './message-words.js';

/** The languages of the service's built-in texts for participants. */
export const BUILT_IN_LANGUAGES = ['en', 'de', 'es', 'fr'] as const;
export type BuiltInLanguage = (typeof BUILT_IN_LANGUAGES)[number];
export const hasBuiltIn = (language: string): language is BuiltInLanguage =>
  (BUILT_IN_LANGUAGES as readonly string[]).includes(language);

/** The language without its region. */
export const primaryLanguage = (language: string): string => languageTag(language).split('-')[0]!;

/** The built-in language for a reader: the reader's own, else the study's default; undefined: neither is one. */
export const chosenLanguage = (
  language: string | null | undefined,
  default_language?: string | null,
): BuiltInLanguage | undefined =>
  [language, default_language].map((one) => primaryLanguage(one ?? '')).find((one) => hasBuiltIn(one));

/** The same, else English. */
export const builtInLanguage = (
  language: string | null | undefined,
  default_language?: string | null,
): BuiltInLanguage => chosenLanguage(language, default_language) ?? 'en';

/** The first built-in language that a browser's `Accept-Language` lists, else English. */
export const acceptedLanguage = (header: string | undefined): BuiltInLanguage =>
  (header ?? '')
    .split(',')
    .map((one) => primaryLanguage(one.split(';')[0]!.trim()))
    .find((one) => hasBuiltIn(one)) ?? 'en';

/** The built-in texts of each message to a participant, without the closing line with a contact. */
export const builtInWords: Record<BuiltInLanguage, Record<ParticipantMessage, MessageWords>> = {
  en: {
    visit_reminder: {
      subject: 'Reminder: {{visit_name}} on {{target_date}}',
      body:
        'Hello,\n\nyour visit “{{visit_name}}” in the study {{public_name}} is planned for {{target_date}}. It ' +
        'can be done from {{window_open}} to {{window_close}}.\n\nThank you for taking part.',
    },
    visit_missed: {
      subject: 'Missed: {{visit_name}}',
      body:
        'Hello,\n\nyour visit “{{visit_name}}” in the study {{public_name}} could be done until {{window_close}} ' +
        'and was not. Please contact the study team if you have questions.\n\nThank you for taking part.',
    },
    magic_link: {
      subject: 'Your link to the study {{public_name}}',
      body:
        'Hello,\n\nthis one-time link opens your page of the study “{{public_name}}”:\n\n{{link}}\n\nThe link ' +
        'works once, within {{minutes}} minutes. You can get a new one at any time: {{new_link_url}}\n\nIf you ' +
        'did not request this, you can ignore it.',
    },
  },
  de: {
    visit_reminder: {
      subject: 'Erinnerung: {{visit_name}} am {{target_date}}',
      body:
        'Guten Tag,\n\nIhr Termin „{{visit_name}}“ in der Studie {{public_name}} ist für den {{target_date}} ' +
        'geplant. Er ist vom {{window_open}} bis zum {{window_close}} möglich.\n\nDanke, dass Sie teilnehmen.',
    },
    visit_missed: {
      subject: 'Versäumt: {{visit_name}}',
      body:
        'Guten Tag,\n\nIhr Termin „{{visit_name}}“ in der Studie {{public_name}} war bis zum {{window_close}} ' +
        'möglich und wurde nicht wahrgenommen. Bei Fragen wenden Sie sich bitte an das Studienteam.\n\nDanke, ' +
        'dass Sie teilnehmen.',
    },
    magic_link: {
      subject: 'Ihr Link zur Studie {{public_name}}',
      body:
        'Guten Tag,\n\ndieser Link öffnet einmalig Ihre Seite der Studie „{{public_name}}“:\n\n{{link}}\n\nDer ' +
        'Link funktioniert ein Mal, innerhalb von {{minutes}} Minuten. Einen neuen bekommen Sie jederzeit hier: ' +
        '{{new_link_url}}\n\nWenn Sie diese Nachricht nicht angefordert haben, können Sie sie ignorieren.',
    },
  },
  es: {
    visit_reminder: {
      subject: 'Recordatorio: {{visit_name}} el {{target_date}}',
      body:
        'Hola:\n\nsu visita «{{visit_name}}» del estudio {{public_name}} está prevista para el {{target_date}}. ' +
        'Puede realizarse del {{window_open}} al {{window_close}}.\n\nGracias por participar.',
    },
    visit_missed: {
      subject: 'Visita no realizada: {{visit_name}}',
      body:
        'Hola:\n\nsu visita «{{visit_name}}» del estudio {{public_name}} podía realizarse hasta el ' +
        '{{window_close}} y no se realizó. Si tiene preguntas, diríjase al equipo del estudio.\n\nGracias por ' +
        'participar.',
    },
    magic_link: {
      subject: 'Su enlace al estudio {{public_name}}',
      body:
        'Hola:\n\neste enlace de un solo uso abre su página del estudio «{{public_name}}»:\n\n{{link}}\n\nEl ' +
        'enlace funciona una sola vez, durante {{minutes}} minutos. Puede pedir uno nuevo en cualquier momento: ' +
        '{{new_link_url}}\n\nSi no ha solicitado este mensaje, puede ignorarlo.',
    },
  },
  fr: {
    visit_reminder: {
      subject: 'Rappel : {{visit_name}} le {{target_date}}',
      body:
        'Bonjour,\n\nvotre visite « {{visit_name}} » de l’étude {{public_name}} est prévue le {{target_date}}. ' +
        'Elle est possible du {{window_open}} au {{window_close}}.\n\nMerci de votre participation.',
    },
    visit_missed: {
      subject: 'Visite manquée : {{visit_name}}',
      body:
        'Bonjour,\n\nvotre visite « {{visit_name}} » de l’étude {{public_name}} était possible jusqu’au ' +
        '{{window_close}} et n’a pas eu lieu. Pour toute question, adressez-vous à l’équipe de l’étude.\n\nMerci ' +
        'de votre participation.',
    },
    magic_link: {
      subject: 'Votre lien vers l’étude {{public_name}}',
      body:
        'Bonjour,\n\nce lien à usage unique ouvre votre page de l’étude « {{public_name}} » :\n\n{{link}}\n\nLe ' +
        'lien fonctionne une seule fois, pendant {{minutes}} minutes. Vous pouvez en obtenir un nouveau à tout ' +
        'moment : {{new_link_url}}\n\nSi vous n’avez pas demandé ce message, vous pouvez l’ignorer.',
    },
  },
};

/** A text message with a link: short, the link early. */
export const shortLink: Record<BuiltInLanguage, string> = {
  en:
    '{{public_name}}: {{link}}\nThis link works once, within {{minutes}} minutes. If you did not request it, you ' +
    'can ignore it.',
  de:
    '{{public_name}}: {{link}}\nDer Link funktioniert ein Mal, {{minutes}} Minuten lang. Nicht angefordert? Dann ' +
    'können Sie ihn ignorieren.',
  es:
    '{{public_name}}: {{link}}\nEl enlace funciona una vez, durante {{minutes}} minutos. Si no lo ha solicitado, ' +
    'puede ignorarlo.',
  fr:
    '{{public_name}} : {{link}}\nCe lien fonctionne une fois, pendant {{minutes}} minutes. Si vous ne l’avez pas ' +
    'demandé, ignorez-le.',
};

/** The text around a message; `%` is a placeholder. */
export const messageFrame: Record<BuiltInLanguage, { questions: string; end: string; open: string }> = {
  en: { questions: 'Questions? Your study team: %', end: 'No more of these mails: %', open: 'Open my page' },
  de: {
    questions: 'Fragen? Ihr Studienteam: %',
    end: 'Keine weiteren Mails dieser Art: %',
    open: 'Meine Seite öffnen',
  },
  es: {
    questions: '¿Preguntas? Su equipo del estudio: %',
    end: 'No recibir más estos correos: %',
    open: 'Abrir mi página',
  },
  fr: {
    questions: 'Des questions ? Votre équipe de l’étude : %',
    end: 'Ne plus recevoir ces messages : %',
    open: 'Ouvrir ma page',
  },
};
