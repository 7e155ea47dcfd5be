import { chooseLanguage } from './compile.js';
import { languageTag } from '../util/language.js';

/** A module's texts about its results: its title, and `properties` of its `result_schema`. */
export interface TitledModule {
  task: string;
  name: string;
  title: unknown;
  properties: unknown;
}
export interface Titles {
  title?: string;
  metric_titles?: Record<string, string>;
}

/** The choice of titles for a reader whose language the study lacks. */
export interface Readers {
  default_language?: string | null;
  /** Whether the reader's program has its own name for a task or metric in a language. */
  isBuiltIn?: (key: string, language: string) => boolean;
}

/**
 * A study's titles of a task and its metrics, from its battery's modules. A study's own task is identified by its
 * module's name; the kind of task alone means all modules of that kind, and titles that differ between them are not
 * used.
 */
export function titlesOf(
  task: string,
  metrics: readonly string[],
  modules: readonly TitledModule[],
  language: string | null,
  { default_language = null, isBuiltIn = () => false }: Readers = {},
): Titles {
  const textOf = (texts: unknown, key: string) =>
    typeof texts === 'object' && language !== null && isBuiltIn(key, language)
      ? textIn(texts, language, { only: true })
      : textIn(texts, language, { default_language });
  const named = modules.filter(({ name }) => name === task);
  const meant = named.length > 0 ? named : modules.filter((module) => module.task === task);
  const shared = (texts: (string | undefined)[]) => (new Set(texts).size === 1 ? texts[0] : undefined);
  const title = shared(meant.map((module) => textOf(module.title, task)));
  const known = metrics.flatMap((metric) => {
    const text = shared(
      meant.map(({ properties }) =>
        textOf((own(properties, metric) as { title?: unknown } | undefined)?.title, metric),
      ),
    );
    return text === undefined ? [] : [[metric, text] as const];
  });
  return {
    ...(title !== undefined && { title }),
    ...(known.length > 0 && { metric_titles: Object.fromEntries(known) }),
  };
}

const own = (object: unknown, key: string): unknown =>
  typeof object === 'object' && object !== null && Object.hasOwn(object, key)
    ? (object as Record<string, unknown>)[key]
    : undefined;

/**
 * One text, or of texts by language the one in the reader's language, else in the default language, else in English,
 * else any; empty texts are ignored.
 * @param only of texts by language only the reader's
 */
export function textIn(
  texts: unknown,
  language: string | null,
  { default_language, only = false }: { default_language?: string | null; only?: boolean } = {},
): string | undefined {
  if (typeof texts === 'string') return texts || undefined;
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) return undefined;
  const available = Object.keys(texts);
  const speaks = (wanted: string) => ofLanguage(available, wanted) !== undefined;
  const wanted = [language, default_language].find((one) => one && speaks(one));
  if (only && (language === null || wanted !== language)) return undefined;
  const chosen = ofLanguage(available, wanted ?? 'en') ?? chooseLanguage(available, 'en');
  const text = chosen === undefined ? undefined : own(texts, chosen);
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** The text of a language: its own, the one without its region, then that of another region. */
function ofLanguage(available: readonly string[], wanted: string): string | undefined {
  const primary = (one: string) => languageTag(one).split('-')[0]!;
  const first = (fits: (one: string) => boolean) => [...available].sort().find(fits);
  return (
    first((one) => languageTag(one) === languageTag(wanted)) ??
    first((one) => languageTag(one) === primary(wanted)) ??
    first((one) => primary(one) === primary(wanted))
  );
}
