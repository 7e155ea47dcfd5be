/**
 * A language as a lower-case BCP 47 tag: `de_AT` is `de-at`, and a code of three letters is that of two where there is
 * one, as capture systems write `deu`, `ger` or `eng`.
 */
export function languageTag(language: string): string {
  const tag = language.toLowerCase().replaceAll('_', '-');
  const [first = '', ...rest] = tag.split('-');
  if (!/^[a-z]{3}$/.test(first)) return tag;
  return [Intl.getCanonicalLocales(first)[0]!.toLowerCase(), ...rest].join('-');
}
