/** Letters of the scripts that are written from right to left. */
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Samaritan}\p{Script=Mandaic}]/u;
/** What has an order of its own between such letters. */
const LEFT_TO_RIGHT =
  /\d|[^\P{L}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Samaritan}\p{Script=Mandaic}]/u;
const SCRIPTS = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg', 'Samr', 'Mand']);
const FIRST_STRONG_ISOLATE = '\u2068',
  POP_DIRECTIONAL_ISOLATE = '\u2069';

export type TextDirection = 'ltr' | 'rtl';

/** Returns the direction in which a language is written; `de_AT` is `de-AT`. A tag that is none is left to right. */
export function directionOf(language: string): TextDirection {
  try {
    const { script } = new Intl.Locale(language.replaceAll('_', '-')).maximize();
    return script !== undefined && SCRIPTS.has(script) ? 'rtl' : 'ltr';
  } catch (fault) {
    if (fault instanceof RangeError) return 'ltr';
    throw fault;
  }
}

/**
 * Keeps the order of the words around a name of the other direction: without marks a number behind a Hebrew name is shown
 * before it. Text of one direction stays as it is.
 */
export function isolated(text: string, around: TextDirection = 'ltr'): string {
  return (around === 'ltr' ? RIGHT_TO_LEFT : LEFT_TO_RIGHT).test(text)
    ? `${FIRST_STRONG_ISOLATE}${text}${POP_DIRECTIONAL_ISOLATE}`
    : text;
}
