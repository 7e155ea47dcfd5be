/** Splits a list into portions of a size, in order; the last may be smaller; an empty list has none. */
export const chunk = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
