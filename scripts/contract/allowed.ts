import type { Break, Rule } from './fits.js';

/** A break that was decided on, with its reason; `at` matches its place. The list is empty again with the next release. */
export interface Allowed {
  rule: Rule;
  at: RegExp;
  reason: string;
}

export const allowed: readonly Allowed[] = [
  {
    rule: 'operation-id-changed',
    at: /^/,
    reason: 'names as one would type them, once; test/contract/operation-ids.test.ts freezes them',
  },
  {
    rule: 'request-narrowed',
    at: / (query (from|to)|header x-device-time)$/,
    reason: 'a pattern that says what the formats said, which no generator could read in a parameter',
  },
];

/** The breaks that nobody has decided on, and the decisions that no break needs. */
export function undecided(
  breaks: readonly Break[],
  list: readonly Allowed[] = allowed,
): { breaks: Break[]; unused: Allowed[] } {
  const meant = (one: Break) => list.find(({ rule, at }) => rule === one.rule && at.test(one.at));
  const used = new Set(breaks.map(meant));
  return { breaks: breaks.filter((one) => !meant(one)), unused: list.filter((one) => !used.has(one)) };
}
