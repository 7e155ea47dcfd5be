/** Sorts a list by the key `of` each item, by code units; the order of equal items stays. */
export const sortBy = <T>(list: readonly T[], of: (item: T) => string): T[] =>
  [...list].sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
