import { chooseLanguage } from './compile.js';

/** What a module says of its results: its title, and `properties` of its `result_schema`. */
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

/**
 * How a study calls a task and the metrics that it gave, where its battery's modules say so. A study's own task is told
 * by its module's name; by the kind of task alone it is all modules of that kind, and a title that they do not share is
 * nobody's.
 */
export function titlesOf(
  task: string,
  metrics: readonly string[],
  modules: readonly TitledModule[],
  language: string | null,
): Titles {
  const named = modules.filter(({ name }) => name === task);
  const meant = named.length > 0 ? named : modules.filter((module) => module.task === task);
  const shared = (texts: (string | undefined)[]) => (new Set(texts).size === 1 ? texts[0] : undefined);
  const title = shared(meant.map((module) => textIn(module.title, language)));
  const known = metrics.flatMap((metric) => {
    const text = shared(
      meant.map(({ properties }) =>
        textIn((own(properties, metric) as { title?: unknown } | undefined)?.title, language),
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

/** One text, or the best of those by language; what is empty is none. */
export function textIn(texts: unknown, language: string | null): string | undefined {
  if (typeof texts === 'string') return texts || undefined;
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) return undefined;
  const chosen = chooseLanguage(Object.keys(texts), language ?? 'en');
  const text = chosen === undefined ? undefined : own(texts, chosen);
  return typeof text === 'string' && text !== '' ? text : undefined;
}
