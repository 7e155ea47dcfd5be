import { suggestion } from '../../api/http/validation/suggestion.js';
import { settingDefinitions } from '../../settings.js';

/** The environment has many names that are none of ours: only one that hardly differs from a setting is meant as it. */
const LARGEST_DIFFERENCE = 0.15;
/** Short names resemble each other by chance (`PORT`, `POST`). */
const SHORTEST = 8;

/**
 * Names in the environment that are no setting and look like one, a sentence each: their values count for nothing,
 * which nobody would notice.
 */
export function misspeltSettings(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const known = Object.keys(settingDefinitions);
  return Object.keys(env)
    .filter((name) => name.length >= SHORTEST && !known.includes(name))
    .map((name) => ({ name, meant: suggestion(name, known, LARGEST_DIFFERENCE) }))
    .filter(({ meant }) => meant !== '')
    .map(({ name, meant }) => `${name} is no setting and counts for nothing${meant}`);
}
