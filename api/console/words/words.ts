import { de } from './de.js';
import { en } from './en.js';
import type { Words } from './en.js';

export type { Words } from './en.js';
export const languages = { en, de } as const satisfies Record<string, Words>;
export type Language = keyof typeof languages;

const known = (tag: string | undefined): Language | undefined => {
  const language = tag?.trim().slice(0, 2).toLowerCase();
  return language === 'en' || language === 'de' ? language : undefined;
};

/** The chosen language, else the browser's first supported one, else English. */
export function wordsOf(
  chosen: string | undefined,
  accepted: string | undefined,
): { language: Language; words: Words } {
  const language =
    known(chosen) ??
    (accepted ?? '')
      .split(',')
      .map((one) => known(one))
      .find((one) => one !== undefined) ??
    'en';
  return { language, words: languages[language] };
}
