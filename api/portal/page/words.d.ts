/** Names of tasks and of their metrics, by language and code; others are of the study's own making. */
export const NAMES: Readonly<Record<'en' | 'de' | 'es' | 'fr', Readonly<Record<string, string>>>>;
