/** Sorts a list by the key `of` each item, by code units; the order of equal items stays. */
export const sortBy = <T>(list: readonly T[], keyOf: (item: T) => string): T[] =>
  [...list].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
