/**
 * A column of texts as one parameter: an array's text quotes and escapes each element, which the driver writes and the
 * database reads letter by letter. For what never holds this character: JSON, which escapes it, and arrays of numbers,
 * booleans and instants. (An instant may hold a line break, where others have a T.)
 */
export const toTextArray = (texts: readonly string[]): string => texts.join('\x01');

/** The array of text that `asLines` made of it, where a statement has it as parameter `$place`. */
export const linesAt = (place: number): string => `string_to_array($${place}::text, E'\\x01')`;
