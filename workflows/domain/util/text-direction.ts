import { languageTag } from './language.js';

export type TextDirection = 'ltr' | 'rtl';

/** Right-to-left languages, if their tag names no script. */
const LANGUAGES = new Set(
  'ar arc azb bal ckb dv fa glk he iw ks lrc mzn nqo ota pnb ps rhg sam sd skr syr ug ur yi'.split(' '),
);
const SCRIPTS = new Set(['arab', 'hebr', 'syrc', 'thaa', 'nkoo', 'adlm', 'rohg', 'samr', 'mand']);

/** Returns the text direction of a language; `de_AT` is `de-AT`. */
export function directionOf(language: string): TextDirection {
  const [primary = '', ...rest] = language.toLowerCase().split(/[-_]/);
  const script = rest.find((part) => part.length === 4 && /^[a-z]/.test(part));
  const known = LANGUAGES.has(primary) || LANGUAGES.has(languageTag(primary).split('-')[0]!);
  return (script === undefined ? known : SCRIPTS.has(script)) ? 'rtl' : 'ltr';
}

/** Right-to-left letters: the blocks from Hebrew to extended Arabic, their forms, and those beyond the first plane. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** All other letters, and numbers, which have their own direction. */
const LEFT_TO_RIGHT = /[^\P{L}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]|\d/u;
const FIRST_STRONG_ISOLATE = '\u2068',
  POP_DIRECTIONAL_ISOLATE = '\u2069';

/**
 * Isolates text of the other direction: without marks a number after a Hebrew name is displayed before it. Text of one
 * direction stays unchanged.
 */
export function isolated(text: string, around: TextDirection = 'ltr'): string {
  return (around === 'ltr' ? RIGHT_TO_LEFT : LEFT_TO_RIGHT).test(text)
    ? `${FIRST_STRONG_ISOLATE}${text}${POP_DIRECTIONAL_ISOLATE}`
    : text;
}
