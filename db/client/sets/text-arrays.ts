/**
 * A column of texts as one parameter: an array literal quotes and escapes each element, which the driver writes and the
 * database reads letter by letter. For values without this character: JSON, which escapes it, and arrays of numbers,
 * booleans and instants. (An instant may hold a line break, where others have a T.)
 */
export const toTextArray = (texts: readonly string[]): string => texts.join('\x01');

/** The array of text made by `toTextArray`, in parameter `$place` of a statement. */
export const linesAt = (place: number): string => `string_to_array($${place}::text, E'\\x01')`;

/**
 * A column of uuids, whole numbers or instants of ours as one parameter: the driver would look at each for letters to
 * escape.
 */
export const toPlainArray = (values: readonly (string | number | null)[]): string =>
  `{${values.map((value) => value ?? 'null').join(',')}}`;
