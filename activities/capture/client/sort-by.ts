/** A list by what `of` says of each, code unit by code unit; those that are equal stay as they stood. */
export const sortBy = <T>(list: readonly T[], of: (item: T) => string): T[] =>
  [...list].sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
