import type { Language } from '../words/words.js';

export const LOCALES: Record<Language, string> = { en: 'en-GB', de: 'de-DE' };

/** A calendar date in words: 10 Mar 2024. */
export const dateText = (language: Language, date: string): string =>
  new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(date));

/** An instant in words, marked as UTC. */
export const instantText = (language: Language, instant: Date, seconds = false): string =>
  `${new Intl.DateTimeFormat(LOCALES[language], {
    dateStyle: 'medium',
    timeStyle: seconds ? 'medium' : 'short',
    timeZone: 'UTC',
  }).format(instant)} UTC`;
